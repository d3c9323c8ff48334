"""Groups of a step, the history of prompts, evaluations."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rollscope as rs
from rollscope.views.evals import evals
from rollscope.views.samples.groups import groups
from rollscope.views.samples.prompts import prompt, prompts


def test_groups_show_their_answers_beside_each_other(world: Any) -> None:
    rewards = {"a": [1.0, 0.0, 0.0, 0.0], "b": [1.0, 1.0], "c": [0.5]}
    rows = [
        {
            "id": f"{g}{i}",
            "step": 3,
            "group": g,
            "task": f"t{g}",
            "repeat": i,
            "reward": r,
            "trained": g == "a",
            "discard_reason": None if g == "a" else "zero",
        }
        for g, rs_ in rewards.items()
        for i, r in enumerate(rs_)
    ]
    world.writer().rows("samples", rows[::-1])
    found = groups(rs.open(world.root).run(), 3)
    assert found["group"] == ["a", "b", "c"]
    assert found["rewards"] == list(rewards.values())
    assert found["gini"][:2] == [0.75, 0.0] and math.isnan(found["gini"][2])
    assert found["zero_spread"] == [False, True, None]
    assert found["fates"][0] == ["trained"] * 4 and found["fates"][1] == ["zero"] * 2
    assert groups(rs.open(world.root).run(), 3, "gini", descending=True)["group"][0] == "a"
    assert groups(rs.open(world.root).run(), 99) == {}


def test_a_prompt_is_solved_forgotten_or_never_solved(world: Any) -> None:
    plan = {"solved": [0.0, 1.0], "forgotten": [1.0, 0.0], "never": [0.0, 0.0]}
    world.writer().rows(
        "samples",
        [
            {"id": f"{t}{s}", "step": s, "task": t, "reward": r}
            for t, rewards in plan.items()
            for s, r in enumerate(rewards)
        ],
    )
    run = rs.open(world.root).run()
    found = prompts(run)
    assert {task: status for task, status in zip(found["task"], found["status"], strict=True)} == {
        name: name for name in plan
    }
    assert prompt(run, "forgotten")["passed"].tolist() == [1.0, 0.0]
    assert prompt(run, "unheard of")["step"].tolist() == []


def test_an_evaluation_averages_a_task_first_and_leaves_failures_out(world: Any) -> None:
    rows = [
        {
            "set": "gsm8k",
            "step": 5,
            "task": "a" if i < 3 else "b",
            "repeat": i,
            "scores": {"acc": float(i < 3)},
            "failed": False,
        }
        for i in range(4)
    ]
    rows.append({"set": "gsm8k", "step": 5, "task": "b", "repeat": 4, "failed": True})
    world.writer().rows("evals", rows)
    found = evals(rs.open(world.root).run())["gsm8k"]["acc"]
    assert found["mean"].tolist() == [0.5]
    assert found["failed"].tolist() == [pytest.approx(0.2)]
