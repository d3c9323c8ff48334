"""The list counts the steps that trained, whatever the evaluation after the last one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.views.summary.run_row import run_row

RESULTS = [{"task": "t", "repeat": 0, "scores": {"acc": 1.0}, "failed": False}]


def recorded(folder: Path, reward: str = "reward/mean", trains_on: bool = False, **how: Any) -> Any:
    """Five steps, and an evaluation after the last update."""
    with rs.init(id="run", dir=folder, host=False) as run:
        for step in range(5):
            run.log({reward: 0.5}, step=step)
            run.commit(step)
        run.log_eval("sums", step=5, results=RESULTS, **how)
        if trains_on:
            run.log({"policy/entropy": 1.0}, step=6)
    return rs.open(folder).run("run")


@pytest.mark.parametrize("prefix", ["eval", "val", "bench"])
@pytest.mark.parametrize("reward", ["reward/mean", "policy/loss_total", "own/loss"])
def test_an_evaluation_after_the_last_update_is_no_step(prefix: str, reward: str, tmp_path: Path) -> None:
    assert run_row("run", recorded(tmp_path, reward, prefix=prefix))["steps"] == 5


def test_a_step_without_a_reward_is_a_step(tmp_path: Path) -> None:
    assert run_row("run", recorded(tmp_path, trains_on=True))["steps"] == 7


def test_a_report_counts_the_same(tmp_path: Path, capsys: Any) -> None:
    recorded(tmp_path, prefix="val")
    assert main(["report", "run", "--dir", str(tmp_path), "-o", str(tmp_path / "report.md")]) == 0
    assert "steps" in (tmp_path / "report.md").read_text() and "| 5 |" in (tmp_path / "report.md").read_text()
