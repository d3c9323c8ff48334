"""The same tasks in two groups: from evaluations and from training alike."""

from __future__ import annotations

from pathlib import Path

import rollscope as rs
from rollscope.views.compare.tasks import solved, trained_shares


def test_most_runs_of_a_group_decide_and_a_task_that_one_lacks_is_left_out() -> None:
    a = [{"x": 1.0, "y": 1.0, "z": 0.0, "only here": 1.0}, {"x": 1.0, "y": 0.0, "z": 0.0}]
    b = [{"x": 0.0, "y": 1.0, "z": 0.0}, {"x": 0.0, "y": 1.0, "z": 0.0}, {"x": 1.0, "y": 0.0, "z": 1.0}]
    found = solved(a, b)
    assert (found.both, found.only_a, found.only_b, found.neither) == ((), ("x",), ("y",), ("z",))
    assert solved([], b).both == ()


def test_prompts_of_training_count_as_they_were_when_last_tried(tmp_path: Path) -> None:
    rewards = {"a": {"p": (0, 1), "q": (1, 0), "r": (0, 0)}, "b": {"p": (1, 0), "q": (1, 1), "r": (0, 1)}}
    for id, tasks in rewards.items():
        with rs.init(id=id, dir=tmp_path, host=False) as run:
            run.declare(reward_min=0, reward_max=1)
            for step in (0, 1):
                rows = [{"id": f"{t}{step}", "task": t, "prompt": t, "reward": r[step]} for t, r in tasks.items()]
                run.log_samples(step=step, samples=rows)
    store = rs.open(tmp_path)
    found = solved(*([trained_shares(store.run(id))] for id in "ab"))
    assert (found.only_a, found.only_b, found.both, found.neither) == (("p",), ("q", "r"), (), ())
