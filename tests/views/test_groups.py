"""Groups of a step, the history of prompts, evaluations."""

from __future__ import annotations

import math
from typing import Any

import rollscope as rs
from rollscope.views.samples.groups import groups
from rollscope.views.samples.prompts import prompt, prompts


def test_groups_show_their_answers_beside_each_other(world: Any) -> None:
    rewards = {"a": [1.0, 0.0, 0.0, 0.0], "b": [1.0, 1.0], "c": [0.5]}
    fates = {g: {"trained": g == "a", "discard_reason": None if g == "a" else "zero"} for g in rewards}
    rows = [
        {"id": f"{g}{i}", "step": 3, "group": g, "task": f"t{g}", "repeat": i, "reward": reward, **fates[g]}
        for g in rewards
        for i, reward in enumerate(rewards[g])
    ]
    world.writer().rows("samples", rows[::-1])
    run = rs.open(world.root).run()
    columns = groups(run, 3)
    assert columns["group"] == ["a", "b", "c"]
    assert columns["rewards"] == list(rewards.values())
    assert columns["gini"][:2] == [0.75, 0.0] and math.isnan(columns["gini"][2])
    assert columns["zero_spread"] == [False, True, None]
    assert columns["fates"][0] == ["trained"] * 4 and columns["fates"][1] == ["zero"] * 2
    assert groups(run, 3, "gini", descending=True)["group"][0] == "a"
    assert groups(run, 99) == {}


def test_a_prompt_is_solved_forgotten_or_never_solved(world: Any) -> None:
    plan = {"solved": [0.0, 1.0], "forgotten": [1.0, 0.0], "never": [0.0, 0.0]}
    rows = [{"id": f"{t}{s}", "step": s, "task": t, "reward": plan[t][s]} for t in plan for s in range(2)]
    world.writer().rows("samples", rows)
    run = rs.open(world.root).run()
    columns = prompts(run)
    assert dict(zip(columns["task"], columns["status"], strict=True)) == {name: name for name in plan}
    assert prompt(run, "forgotten")["passed"].tolist() == [1.0, 0.0]
    assert prompt(run, "unheard of")["step"].tolist() == []
