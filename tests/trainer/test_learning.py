"""The trainer learns: the last tenth of a run beats the first by a margin, for three seeds."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from .conftest import table, trained  # noqa: E402

MARGIN = 0.25  # measured: 0.38 to 0.43


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_reward_rises(tmp_path, seed):
    rollout = {"groups_per_step": 8, "repeats": 6, "max_completion_tokens": 5, "discard_group_zero_advantage": False}
    small = table(
        environment={"options": {"length": 3, "letters": "abcd", "skill": 0.4}, "train_tasks": 50},
        model={"context": 24},
        warmup={"steps": 60, "lr": 1e-2},
        optimiser={"lr": 2e-3},
        algorithm={"minibatches": 1},
        rollout=rollout,
        evaluation={"every": 0, "tasks": 4},
        run={"steps": 40, "seed": seed},
    )
    run = trained(small, tmp_path)
    reward = np.array(list(run.values("reward/generated/mean").values()))
    assert len(reward) == 40
    assert reward[-4:].mean() > reward[:4].mean() + MARGIN


def test_embodied_success_rises(tmp_path):
    ppo = {"name": "ppo", "epochs": 4, "minibatches": 2, "gamma": 0.97, "entropy_coef": 0.01, "value_clip": 5.0}
    small = table(
        environment={"name": "gym", "options": {"envs": 32}},
        algorithm=ppo,
        optimiser={"lr": 5e-3, "critic_lr": 5e-3},
        evaluation={"every": 0},
        run={"steps": 25},
    )
    run = trained(small, tmp_path)
    once = np.array(list(run.values("env/success_once").values()))
    assert once[-3:].mean() > once[:3].mean() + 0.3
    assert np.mean(list(run.values("critic/explained_variance").values())[-3:]) > 0.1
