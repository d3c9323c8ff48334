"""Episodes: RLinf's pooling over ranks, and our numbers where RLinf's are wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs

RLINF: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "rlinf_env.json").read_text())
RANKS = [
    {"success_once": [1, 0, 1, 1], "episode_return": [1.0, 0.0, 1.0, 1.0], "episode_len": [10.0, 40.0, 20.0, 30.0]},
    {"success_once": [0], "episode_return": [0.0], "episode_len": [50.0]},
]


def test_episodes_of_all_ranks_are_pooled() -> None:
    a, b = (rs.compute(rank) for rank in RANKS)
    named = rs.rename({name: a[name] + b[name] for name in a}, "rlinf")
    oracle = RLINF["1_pooled"]
    assert (
        named["env/success_once"]
        == pytest.approx(oracle["success_once"])
        != RLINF["1_mean_of_rank_means_would_be"]["success_once"]
    )
    assert named["env/num_trajectories"] == oracle["num_trajectories"]
    assert named["env/return"] == pytest.approx(oracle["return"])
    assert named["env/episode_len"] == pytest.approx(oracle["episode_len"])
    assert named["env/reward"] == pytest.approx(np.mean([1 / 10, 0, 1 / 20, 1 / 30, 0]))


@pytest.mark.parametrize("env", ["7_libero", "7_maniskill"])
def test_rewards_per_step_are_the_environments_where_they_divide_by_steps(env: str) -> None:
    for row in RLINF[env]["trace"]:
        metrics = rs.compute(
            {"episode_return": row["return"], "episode_len": row["episode_len"], "success_once": row["success_once"]}
        )
        assert metrics["env/success_once"].value == pytest.approx(np.mean(row["success_once"]))
        if env == "7_maniskill" or row["t"] <= 2:  # LIBERO divides by the steps until its first success
            assert metrics["env/reward"].value == pytest.approx(np.mean(row["reward"]), abs=1e-6)


def test_no_finished_episode_is_no_data_where_rlinf_writes_zero() -> None:
    metrics = rs.compute({"success_once": [], "episode_return": []})
    assert math.isnan(metrics["env/success_once"].value) and RLINF["1_empty_tensor"]["success_once"] == 0.0
    assert metrics["env/episodes"].weight == 0


def test_episodes_are_counted_by_success_not_by_the_first_key() -> None:
    metrics = rs.compute({"success_once": [1, 0]})
    assert metrics["env/episodes"].value == 2 and RLINF["1_num_traj_uses_first_key"]["num_trajectories"] == 6


def test_an_episode_of_no_steps_has_no_reward_per_step() -> None:
    assert rs.compute({"episode_return": [1.0, 0.0], "episode_len": [4.0, 0.0]})["env/reward"].value == 0.25


def test_success_with_help_is_not_the_policys() -> None:
    metrics = rs.compute({"success_once": [1, 1, 0, 1], "intervened": [0, 1, 1, 0], "intervened_steps": [0, 12, 3, 0]})
    assert metrics["env/intervened"].value == 0.5 and metrics["env/success_unaided"].value == 0.5
    assert metrics["env/intervened_steps/mean"].value == 3.75


def test_an_episode_that_says_nothing_is_not_counted() -> None:
    metrics = rs.compute({"success_once": [1.0, math.nan, 0.0], "success_at_end": [1.0, 0.0, None]})
    assert metrics["env/success_once"].value == 0.5 and metrics["env/success_at_end"].weight == 2


def test_evaluation_keys_are_found_and_never_written_for_training() -> None:
    assert rs.explain("eval/success_once", "rlinf").name == "env/success_once"
    assert not any(key.startswith("eval/") for key in rs.rename(rs.compute(RANKS[0]), "rlinf"))


def test_a_step_reward_is_the_mean_over_unmasked_steps_of_all_ranks() -> None:
    """Two ranks of RLinf give (1 + 0 + 1 + 4) / 4; the mean of their means would be 2.33."""
    a = rs.compute({"token_rewards": [[1.0, 0.0, 1.0]], "mask": [[1, 1, 1]]})
    b = rs.compute({"token_rewards": [[4.0, 7.0, 7.0]], "mask": [[1, 0, 0]]})
    assert rs.rename({"env/step_reward": a["env/step_reward"] + b["env/step_reward"]}, "rlinf") == {
        "rollout/rewards": 1.5
    }
    empty = rs.compute({"token_rewards": [[7.0]], "mask": [[0]]})
    assert (b["env/step_reward"] + empty["env/step_reward"]).value == 4.0 and math.isnan(empty["env/step_reward"].value)
