"""What findings cost, and the useful share of what a run generated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.diagnose import Diagnosis, diagnosis
from rollscope.diagnose.aggregates import Chunk, compute

HOUR = 3_600_000_000_000


def sample(step: int, i: int, **more: Any) -> dict[str, Any]:
    known = {"id": f"{step}.{i}", "group": f"g{i // 4}", "task": f"t{i // 4}", "completion_tokens": 100}
    return {**known, "reward": float(i % 2), "advantage": 1.0 - 2 * (i % 2), "trained": True, **more}


def recorded(folder: Path, fate: dict[str, Any], count: int = 8, **declared: Any) -> Diagnosis:
    """A run of twenty steps in which the first samples of each of the last ten have this fate."""
    with rs.init(name="run", id="run", dir=str(folder), host=False) as run:
        if declared:
            run.declare(**declared)
        for step in range(20):
            bad = count if step >= 10 else 0
            run.log({"custom/x": 1.0}, step=step)
            run.log_samples([sample(step, i, **(fate if i < bad else {})) for i in range(16)], step=step)
    return diagnosis(rs.open(folder).run("run"))


NO_ADVANTAGE = "samples whose advantage is 0: all of their group got the same, or they its mean"
DISCARDED = {"trained": False, "reward": None, "advantage": None}


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        ({"error": "sandbox gone", "reward": 0.0}, "samples that failed outside the policy"),
        (
            {"discard_reason": "zero_advantage", **DISCARDED},
            NO_ADVANTAGE,
        ),
        ({"advantage": 0.0, "reward": 1.0}, NO_ADVANTAGE),
        ({"discard_reason": "max_async", **DISCARDED}, "samples thrown away because they were too old"),
        ({"discard_reason": "filtered", **DISCARDED}, "samples discarded for another reason"),
    ],
    ids=["failed", "dropped without a spread", "trained on without a spread", "too old", "filtered"],
)
def test_what_taught_nothing_is_counted_once_and_named(tmp_path: Path, fate: dict[str, Any], why: str) -> None:
    told = recorded(tmp_path, fate).useful
    assert told is not None and told.tokens == 20 * 16 * 100
    assert told.share == pytest.approx(0.75)
    (cost,) = told.wasted
    assert (cost.why, cost.samples, cost.tokens, cost.gpu_hours) == (why, 80, 8000, None)


@pytest.mark.parametrize(
    "fate",
    [{}, {"stop_reason": "length"}, {"trained": None, "advantage": None}, {"reward": 0.0}],
    ids=["nothing happened", "cut", "its fate is not known", "wrong"],
)
def test_what_may_have_taught_something_is_useful(tmp_path: Path, fate: dict[str, Any]) -> None:
    told = recorded(tmp_path, fate).useful
    assert told is not None and (told.share, told.wasted) == (1.0, ())


def test_a_finding_says_what_it_cost_of_the_whole_run_and_what_was_paid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = {"error": "sandbox gone", "reward": 0.0}
    told = recorded(tmp_path, failed, gpus=8, gpu_hour_price=3600.0 * 1000, currency="EUR")
    (finding,) = [f for f in told.findings if f.rule == "environment-failures"]
    assert finding.cost is not None and finding.cost.share == pytest.approx(0.25)
    reader = rs.open(tmp_path).run("run")
    first, last = reader.time_range
    assert first is not None and last is not None
    hours = (last - first) / HOUR
    assert finding.cost.gpu_hours == pytest.approx(0.25 * 8 * hours)
    assert finding.cost.money == pytest.approx(finding.cost.gpu_hours * 3.6e6) and finding.cost.currency == "EUR"
    assert main(["doctor", "run", "--dir", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "Useful share of the tokens generated: 75 %. 25 % were samples that failed outside the policy" in said
    assert "It cost 25 % of the run" in said and "EUR" in said


def test_a_run_without_samples_has_no_useful_share(tmp_path: Path) -> None:
    with rs.init(name="run", dir=str(tmp_path), host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
    assert diagnosis(rs.open(tmp_path).run(run.id)).useful is None


def test_reasons_add_up() -> None:
    """A sample that failed and was then discarded is counted as failed."""
    numbers = compute(
        Chunk.of(
            id=["a", "b", "c"],
            error=["x", None, None],
            reward=[0.0, 1.0, 1.0],
            discard_reason=["error", "max_async", None],
            completion_tokens=[5, 7, 9],
        ),
        text=False,
    )
    parts = [float(numbers[f"tokens/{reason}"][0]) for reason in ("failed", "stale", "no_spread", "discarded")]
    assert parts == [5, 7, 0, 0] and float(numbers["tokens"][0]) == np.sum([5, 7, 9])
