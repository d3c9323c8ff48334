"""Each failure does what it promises: its metric differs from the healthy run of the same seed."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rollscope.trainer.failures import FAILURES  # noqa: E402

from .conftest import table, trained  # noqa: E402

ALL_GROUPS = {"discard_group_zero_advantage": False}
FAST = {
    "evaluation": {"every": 0},
    "optimiser": {"lr": 1e-3},
    "warmup": {"steps": 60, "batch": 16},
    "run": {"steps": 5},
    "rollout": ALL_GROUPS,
}
PROMISES = {  # failure -> (metric, other changes, check of the healthy and the broken run's values)
    "learning_rate_too_high": ("policy/kl_update_k3", {}, lambda well, ill: max(ill) > 10 * max(well)),
    "entropy_collapse": ("policy/entropy", {}, lambda well, ill: ill[-1] < 0.9 * well[-1]),
    "length_hack": ("reward/generated/mean", {}, lambda well, ill: np.mean(ill[2:]) > np.mean(well[2:]) + 0.5),
    "constant_reward": ("group/zero_spread", {}, lambda well, ill: max(well) < 1 and set(ill[2:]) == {1.0}),
    "noisy_reward": ("reward/generated/std", {}, lambda well, ill: min(ill[2:]) > 2 * max(well)),
    "stale_rollouts": ("staleness/max", {"run": {"steps": 9}}, lambda well, ill: max(well) == 0 and max(ill) >= 6),
    "truncation": (
        "length/truncated/generated",
        {"rollout": {"max_completion_tokens": 12} | ALL_GROUPS},
        lambda well, ill: min(ill) > 0.5 > max(well),
    ),
    "sampler_mismatch": ("policy/kl_sampler_k3", {}, lambda well, ill: max(well) < 1e-5 and min(ill[2:]) > 1e-3),
    "slow_grader": ("time/reward", {}, lambda well, ill: min(well) < 0.5 <= min(ill[2:])),
    "slow_sync": ("time/weight_sync/inference", {}, lambda well, ill: min(well) < 0.5 <= min(ill[2:])),
    "long_tail": ("time/generate", {}, lambda well, ill: min(well) < 1 <= max(ill)),
    "exploding_kl": ("policy/kl_ref_k3", {}, lambda well, ill: ill[-1] > 5 * well[-1]),
}
ELSEWHERE = {"dead_reward", "worker_crash", "slow_worker", "nan_loss"}  # tested in test_loop.py
OTHERS = {"tool_failure_loop", "eval_leak", "dead_critic"}  # below


@pytest.fixture(scope="module")
def well(tmp_path_factory):
    """Healthy runs, by how they differ from the usual one."""
    runs = {}

    def run(**more):
        key = repr(more)
        if key not in runs:
            runs[key] = trained(table(**(FAST | more)), tmp_path_factory.mktemp("well"))
        return runs[key]

    return run


@pytest.mark.parametrize("name", PROMISES)
def test_a_failure_shows_in_its_metric(well, tmp_path, name):
    metric, more, promised = PROMISES[name]
    broken = trained(table(**(FAST | more | {"failure": {"name": name, "start": 2}})), tmp_path)
    healthy = well(**more)
    assert promised(list(healthy.values(metric).values()), list(broken.values(metric).values()))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", PROMISES)
def test_a_failure_is_made_on_a_gpu_too(tmp_path, name):
    more = FAST | {"run": {"steps": 5, "device": "cuda"}, "failure": {"name": name, "start": 2}}
    assert len(trained(table(**more), tmp_path).values("reward/mean")) == 5


def test_every_failure_is_tested():
    assert set(PROMISES) | ELSEWHERE | OTHERS == set(FAILURES)


def test_every_tool_call_fails(tmp_path):
    more = {
        "environment": {"name": "calculator", "options": {"digits": 1, "skill": 1.0}, "train_tasks": 50},
        "model": {"context": 96},
        "warmup": {"steps": 150, "batch": 32, "lr": 8e-3},
    }
    rollout = {"max_completion_tokens": 30} | ALL_GROUPS
    more |= {"rollout": rollout, "run": {"steps": 2}, "failure": {"name": "tool_failure_loop", "start": 1}}
    run = trained(table(**(FAST | more)), tmp_path)
    shares = run.values("tool/failure_share")
    assert shares[1] == 1.0 > shares[0]


def test_a_leak_evaluates_on_training_tasks(tmp_path):
    run = trained(table(run={"steps": 1}, evaluation={"every": 1, "tasks": 6}, failure={"name": "eval_leak"}), tmp_path)
    train = set(run.reader.samples(where="split = 'train'", columns=["task"])["task"])
    evaluated = set(run.reader.evals()["task"])
    honest = trained(table(run={"steps": 1}, evaluation={"every": 1, "tasks": 6}), tmp_path)
    assert not train & set(honest.reader.evals()["task"])
    assert evaluated and all(_split(task) == "train" for task in evaluated)


def _split(task: str) -> str:
    from rollscope.trainer import Task

    return Task(task).split


def test_a_dead_critic_explains_nothing(tmp_path):
    run = trained(table(**FAST, algorithm={"name": "ppo"}, failure={"name": "dead_critic"}), tmp_path)
    explained = run.values("critic/explained_variance")
    assert all(math.isnan(value) or abs(value) < 1e-6 for value in explained.values())
    assert set(run.values("critic/values/max").values()) == {0.0}
