"""Rows that some writers wrote of some samples are left out of the sets of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollscope.store.seal.compact import compact
from rollscope.store.seal.leave_out import leave_out
from rollscope.store.seal.logs import seal
from rollscope.store.store import open as stored

from .conftest import T0, World


def rows(writer: Any, *ids: str) -> None:
    writer.metrics(3, {"loss": 1.0})
    writer.rows("samples", [{"id": id, "step": 3, "reward": 1.0, "completion": "text"} for id in ids])
    writer.rows("turns", [{"sample": id, "step": 3, "turn": 0, "content": "text"} for id in ids])
    writer.rows("evals", [{"sample": id, "step": 3, "set": "s", "task": id} for id in ids])
    spans = [{"id": i, "name": "n", "start_ns": T0, "end_ns": T0 + 1, "sample": id} for i, id in enumerate(ids)]
    writer.rows("spans", spans)
    writer.finish()


@pytest.mark.parametrize("sealed", [False, True], ids=["logs", "one set"])
@pytest.mark.parametrize("gone", [{"x"}, {"x", "y"}])
def test_what_others_wrote_and_of_other_samples_stays(world: World, sealed: bool, gone: set[str]) -> None:
    first, second = world.writer(1), world.writer(2)
    rows(first, "x", "y")
    rows(second, "x", "z")
    if sealed:
        seal(str(world.run))
        compact(str(world.run), everything=True)
    run = stored(world.root).run("r1")
    before = run.series("loss")["value"].tolist()
    assert leave_out(str(world.run), {"y"} if sealed else gone, {first.writer}) == 1
    left = {"x", "z"} if sealed else {"x", "z", "y"} - (gone - {"x"})
    run.refresh()
    assert set(run.samples()["id"]) == left and set(run.turns()["sample"]) == left
    assert set(run.evals()["sample"]) == left == set(run.spans()["sample"])
    assert run.series("loss")["value"].tolist() == before and run.verify() == []
    assert leave_out(str(world.run), gone - {"x"}, {first.writer}) == 0


def test_a_run_without_any_of_them_stays_as_it_is(world: World) -> None:
    rows(world.writer(), "x")
    seal(str(world.run))
    names = sorted(path.name for path in Path(world.run).iterdir())
    assert leave_out(str(world.run), {"other"}, {"0" * 16}) == 0
    assert sorted(path.name for path in Path(world.run).iterdir()) == names
