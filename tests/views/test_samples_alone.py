"""Runs that hold samples and no numbers, and runs without clocks, such as imported folders."""

from __future__ import annotations

from typing import Any

import pytest

import rollscope as rs
from rollscope.diagnose import Finding
from rollscope.store.run import Run
from rollscope.store.seal.logs import seal
from rollscope.views.health.report import Health, health
from rollscope.views.summary.run_row import run_row
from rollscope.views.summary.tape import tape
from tests.store.conftest import T0, World

STEPS = range(5, 25)


def opened(world: World) -> Run:
    run: Run = rs.open(world.root).run("r1")
    return run


def judged_of(run: Run) -> Health[Finding]:
    return health(run, [], rules=3)


def sampled(world: World, steps: Any = STEPS, sealed: bool = False) -> Run:
    """A run of four samples a step: two fail, and one when half of the steps are over."""
    writer = world.writer()
    for at, step in enumerate(steps):
        late = int(at >= len(steps) // 2)
        rows = [{"id": f"{at}-{i}", "group": f"{at}", "reward": float(i >= 2 - late)} for i in range(4)]
        placed = {} if step is None else {"step": step}
        writer.rows("samples", [{**row, **placed, "time_ns": T0 + at * 10**9} for row in rows])
    writer.rows("runs", [{"state": "finished"}])
    writer.finish()
    if sealed:
        seal(str(world.run))
    return opened(world)


@pytest.mark.parametrize("sealed", [False, True])
def test_steps_and_times_are_those_of_the_samples(world: World, sealed: bool) -> None:
    run = sampled(world, sealed=sealed)
    assert run.last_step == 24 and run.step_range == (0, 24)
    assert run.time_range == (T0, T0 + 19 * 10**9)
    record = rs.open(world.root).runs()[0]
    assert (record.step, record.started_ns, record.ended_ns) == (24, T0, T0 + 19 * 10**9)


def test_samples_alone_are_judged_by_their_rewards(world: World) -> None:
    run = sampled(world)
    judged = judged_of(run)
    assert judged.verdict["title"] == "Learning. Nothing stands out."
    assert judged.verdict["context"].startswith("Reward rose from 0.5 to 0.75")
    assert "Reward" in [sign["title"] for sign, _ in judged.signs]


def test_the_page_draws_the_rewards_of_samples_alone(world: World) -> None:
    run = sampled(world)
    row = run_row("r1", run)
    assert (row["headline"], row["headline_value"], row["step"]) == ("reward/mean", 0.75, 24)
    drawn = tape(run)
    assert drawn["last"] == 24 and drawn["headline"] == "reward/mean"
    assert [value for value in drawn["reward"] if value is not None] == [0.5] * 10 + [0.75] * 10


def test_samples_without_a_step_are_said_to_be_there(world: World) -> None:
    said = judged_of(sampled(world, [None, None])).verdict
    assert said["title"] == "Samples, and no numbers."
    assert said["context"] == "No row names a step. Look at Rollouts."


def test_numbers_without_clocks_count_their_steps(world: World) -> None:
    """As an import writes them: rows of two processes at each step, and no row of `steps`."""
    for number in (1, 2):
        writer = world.writer(number, rank=number - 1)
        for step in range(16):
            writer.metrics(step, {"loss": 1.0, "reward/mean": 0.5})
        writer.rows("runs", [{"state": "finished"}])
        writer.finish()
    assert judged_of(opened(world)).verdict["title"] == "No progress beyond noise."


def test_samples_beyond_the_last_number_are_in_the_range(world: World) -> None:
    writer = world.writer()
    writer.metrics(3, {"eval/sums/mean@1": 0.5})
    run = sampled_beside(world, writer)
    assert run.last_step == 3 and run.step_range == (0, 9)


def sampled_beside(world: World, writer: Any) -> Run:
    writer.rows("samples", [{"id": f"{step}", "step": step, "reward": 1.0, "time_ns": T0} for step in range(10)])
    writer.finish()
    return opened(world)
