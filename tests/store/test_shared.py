"""Readers of one growing log keep its rows once, whenever each of them looked."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import rollscope as rs
from rollscope.store.live import shared
from rollscope.store.run import Run

STEPS = 200


def write(writer: Any, step: int) -> None:
    many = 4 if step % 40 else 300  # a busy writer puts many rows into a block
    writer.rows("samples", [{"id": f"{step}.{i}", "step": step, "reward": float(i)} for i in range(many)])
    writer.metrics(step, {"loss": float(step), "reward/mean": 0.5})


def pieces(run: Run) -> dict[int, int]:
    """The rows of each piece of the run's logs, by the piece's identity."""
    held = {}
    for tail in run.folder.tails.values():
        held |= {id(part): len(part) for part in tail.parts("samples")}
        held |= {id(calls): len(calls) for shape in tail.metrics.wide.shapes.values() for calls in shape.calls}
    return held


def answers(run: Run) -> dict[str, Any]:
    loss, samples = run.series("loss"), run.samples(columns=["id", "step", "reward"])
    return {
        "loss": (loss["step"].tolist(), loss["value"].tolist()),
        "samples": list(zip(*(samples[name].tolist() for name in ("id", "step", "reward")), strict=True)),
        "steps": run.count_by_step("samples").by_step(),
        "statistics": repr(run.rollups().to_pylist()),  # NaN is not itself
    }


@pytest.mark.parametrize(("often", "seldom"), [(1, 4), (1, 7), (3, 50), (2, 200)])
def test_two_readers_that_look_at_different_times_keep_the_rows_once(world: Any, often: int, seldom: int) -> None:
    writer = world.writer()
    write(writer, 0)
    page, doctor = rs.open(world.root).run("r1"), rs.open(world.root).run("r1")
    for step in range(1, STEPS + 1):
        write(writer, step)
        for reader, every in ((page, often), (doctor, seldom)):
            if step % every == 0 or step == STEPS:
                reader.refresh()
    both = pieces(page).keys() & pieces(doctor).keys()
    rows = pieces(page)
    assert sum(rows[one] for one in both) > 0.8 * sum(rows.values())
    assert answers(page) == answers(doctor) == answers(rs.open(world.root).run("r1"))


def test_what_the_last_reader_kept_is_gone_with_it(world: Any) -> None:
    gc.collect()
    before = len(shared._pieces)
    writer = world.writer()
    for step in range(STEPS):
        write(writer, step)
    run = rs.open(world.root).run("r1")
    assert len(shared._pieces) > before
    del run
    gc.collect()
    assert len(shared._pieces) == before


def test_a_log_in_the_place_of_another_shares_nothing_with_it(world: Any) -> None:
    writer = world.writer()
    for step in range(STEPS):
        write(writer, step)
    old = rs.open(world.root).run("r1")
    path = writer.path
    data = path.read_bytes()
    path.unlink()  # as when a run is removed and recorded again
    path.with_suffix(".other").write_bytes(data)  # so that the new log is another file
    path.write_bytes(data)
    new = rs.open(world.root).run("r1")
    assert not pieces(old).keys() & pieces(new).keys()
