"""Columns with words as dictionaries say what the same columns say as texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.errors import BadInput
from rollscope.store.seal import logs

WANTED = ("name", "lane", "kind", "start_ns", "version", "writer")


def spans(first: int, lane: str | None, **more: Any) -> list[dict[str, Any]]:
    """Rows as odd as they come: without a lane, with a version or without the column."""
    row = {"name": "generate", "kind": "work", "step": first} | ({"lane": lane} if lane else {}) | more
    return [{"id": i, "start_ns": i, "end_ns": i + 1, **row} for i in range(first, first + 3)]


def test_sealed_and_live_rows_come_as_one_table(world: Any) -> None:
    one = world.writer(1)
    one.rows("spans", spans(0, "trainer/0"))
    one.rows("spans", spans(3, None, version=7))
    one.finish()
    logs.seal(str(world.run))
    two = world.writer(2)
    two.rows("spans", spans(6, "inference/0", kind="wait"))
    run = rs.open(world.root).run()
    coded, texts = run.coded("spans", WANTED), run.table("spans", WANTED, as_arrow=True)
    assert {name: coded[name].to_pylist() for name in WANTED} == {name: texts[name].to_pylist() for name in WANTED}
    assert coded["lane"].to_pylist() == ["trainer/0"] * 3 + [None] * 3 + ["inference/0"] * 3
    assert str(coded["lane"].type).startswith("dictionary")


def test_rows_of_an_abandoned_attempt_are_left_out(world: Any) -> None:
    first, second = world.writer(1), world.writer(2, attempt=2)
    for step in range(4):
        first.metrics(step, {"a": 1.0})
        first.rows("spans", [{"id": step, "name": "old", "step": step}])
    second.metrics(2, {"a": 1.0})
    second.rows("spans", [{"id": 9, "name": "new", "step": 2}])
    found = rs.open(world.root).run().coded("spans", ["name"])
    assert sorted(zip(found["step"].to_pylist(), found["name"].to_pylist(), strict=True)) == [
        (0, "old"),
        (1, "old"),
        (2, "new"),
    ]


def test_a_run_from_before_versions_has_none_and_an_unknown_column_is_named() -> None:
    run = rs.open(Path(__file__).parent / "fixtures" / "before_rooms").run("before")
    assert (
        run.coded("spans", WANTED)["name"].to_pylist() == run.table("spans", WANTED, as_arrow=True)["name"].to_pylist()
    )
    assert set(run.coded("spans", WANTED)["version"].to_pylist()) <= {None}
    with pytest.raises(BadInput, match="no column 'colour' in spans"):
        run.coded("spans", ["colour"])


def test_a_run_without_the_table_has_no_rows(world: Any) -> None:
    world.writer().metrics(0, {"a": 1.0})
    assert len(rs.open(world.root).run().coded("spans", WANTED)) == 0
