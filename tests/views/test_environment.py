"""Failures by cause, time and task: broken at one time is the environment, hard is some tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rollscope as rs
from rollscope.views.environment.page import EnvironmentShape, page


def recorded(folder: Path, error: Any, steps: int = 40, tasks: int = 16, **more: Any) -> EnvironmentShape:
    """A run of `steps` with one sample per task; `error(step, task)` is a text or None."""
    with rs.init(id="r", dir=folder, host=False) as run:
        for step in range(steps):
            rows = [
                {"id": f"{step}-{task}", "task": f"t{task}", "reward": 0.0 if error(step, task) else 1.0}
                | {"error": error(step, task), "trained": True, "generate_seconds": 2.0, "reward_seconds": 0.5}
                | more
                for task in range(tasks)
            ]
            run.log_samples(rows, step=step)
    return page(rs.open(folder).run("r"))


def test_failures_of_all_tasks_at_one_time_read_as_the_environment(tmp_path: Path) -> None:
    seen = recorded(tmp_path, lambda step, task: f"session 7f{step}c{task} orphaned" if 10 <= step < 16 else None)
    (cause,) = seen["causes"]
    assert (cause["count"], cause["zeros"], cause["steps"], cause["tasks"]) == (96, 96, 6, 16)
    assert cause["reads"] == "the environment" and "session … orphaned" in seen["title"] and "96" in seen["title"]
    assert seen["trained_as_zero"] == 96 and sum(seen["zeros"]) == 96 and sum(cause["failed"]) == 96
    assert "not the policy" in seen["context"]


def test_failures_of_few_tasks_at_any_time_read_as_hard_tasks(tmp_path: Path) -> None:
    seen = recorded(tmp_path, lambda step, task: "tool timeout, 120 s" if task < 2 and step % 2 else None)
    assert seen["causes"][0]["reads"] == "hard tasks"
    assert [(row["name"], row["failed"], row["total"]) for row in seen["tasks"]] == [("t0", 20, 40), ("t1", 20, 40)]


def test_what_was_masked_was_not_trained_on_as_zero(tmp_path: Path) -> None:
    masked = {"trained": False, "discard_reason": "error"}
    seen = recorded(tmp_path, lambda step, task: "judge: HTTP 503" if step == 3 else None, **masked)
    assert (seen["causes"][0]["zeros"], seen["causes"][0]["masked"]) == (0, 16) and seen["trained_as_zero"] == 0


def test_hard_prompts_without_errors_are_no_failures(tmp_path: Path) -> None:
    seen = recorded(tmp_path, lambda step, task: None, reward=0.0)
    assert seen["failed"] == 0 and seen["causes"] == [] and "No sample failed" in seen["title"]


def test_a_long_run_has_few_columns_and_counts_every_failure(tmp_path: Path) -> None:
    seen = recorded(tmp_path, lambda step, task: f"error kind {'abcdefgh'[step % 8]}", steps=250, tasks=2)
    assert len(seen["steps"]) <= 120 and sum(seen["samples"]) == 500
    assert sum(cause["count"] for cause in seen["causes"]) == 500 and seen["causes"][-1]["name"] == "other errors"


def test_a_run_without_samples_says_what_fills_the_page(tmp_path: Path) -> None:
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        run.log({"loss": 1.0}, step=0)
    seen = page(rs.open(tmp_path).run("r"))
    assert seen["title"] == "No samples yet" and "log_samples" in seen["context"] and seen["steps"] == []


def test_tools_have_their_calls_failures_and_times(tmp_path: Path) -> None:
    calls = [{"role": "tool", "tool": "python", "ok": i != 0, "seconds": 1.0 + i, "content": ""} for i in range(4)]
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        run.log_samples([{"id": "s", "task": "t", "reward": 1.0, "turns": calls}], step=0)
    (tool,) = page(rs.open(tmp_path).run("r"))["tools"]
    assert (tool["name"], tool["calls"], tool["failed"], tool["p50"]) == ("python", 4, 1, 2.5)
