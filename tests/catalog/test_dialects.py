"""Runs of frameworks whose names stand in `dialects/` are told by them, and are read by ours.

The names of each row are a part of what the framework's own loggers write.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.catalog.names.find import find
from rollscope.catalog.names.held import RunNames
from rollscope.catalog.names.spoken import spoken
from rollscope.sources.intake.importer import Importer

LOGGED: dict[str, dict[str, str]] = {  # framework -> what it logs -> what that is
    "slime": {
        "train/grad_norm": "optimiser/grad_norm",
        "train/entropy_loss": "policy/entropy_aggregated",
        "train/ppo_kl": "policy/seq_kl_update_k1",
        "rollout/raw_reward": "reward/mean",
        "rollout/response_len/median": "length/completion/p50",
        "rollout/truncated_ratio": "length/truncated",
        "perf/step_time": "time/step",
    },
    "miles": {
        "train/grad_norm": "optimiser/grad_norm",
        "rollout/raw_reward": "reward/mean",
        "rollout/zero_std/all_one_percentage": "group/all_pass",
        "rollout/weight_version/mixed_version_ratio": "async/partial_share",
    },
    "roll": {
        "critic/rewards/mean": "reward/mean",
        "actor/kl_loss@sum": "policy/kl_loss_aggregated",
        "actor_train/grad_norm": "optimiser/grad_norm",
        "token/response_length/max": "length/completion/max",
        "group/all_correct_groups_ratio": "group/all_pass",
        "time/step_total": "time/step",
    },
    "nemo_rl": {
        "train/reward": "reward/mean",
        "train/gen_kl_error": "policy/kl_sampler_k3",
        "train/token_mult_prob_error": "mismatch/probs_mult_error",
        "train/probs_ratio_max": "policy/ratio/max",
        "timing/train/total_step_time": "time/step",
    },
    "skyrl": {
        "reward/avg_raw_reward": "score/mean",
        "policy/policy_entropy": "policy/entropy",
        "generate/avg_num_tokens": "length/response/mean",
        "async/staleness_max": "staleness/max",
        "timing/policy_train": "time/update_policy",
    },
    "areal": {
        "ppo_actor/task_reward/avg": "reward/mean",
        "ppo_actor/update/entropy/avg": "policy/entropy",
        "ppo_actor/update/grad_norm": "optimiser/grad_norm",
        "timeperf/update_weights": "time/sync_weights",
    },
    "prime_rl": {
        "train/agg/effective/reward/mean": "reward/mean",
        "entropy/all/mean": "policy/entropy",
        "mismatch_kl/all/mean": "policy/kl_behaviour_k3",
        "off_policy/max": "staleness/max",
        "train/agg/all/solved_none": "group/all_fail",
    },
    "tinker": {
        "env/all/reward/total": "reward/mean",
        "optim/kl_sample_train_v1": "policy/kl_behaviour_k1",
        "env/all/by_group/frac_mixed": "group/mixed",
        "optim/entropy": "policy/entropy_sampled",
    },
    "art": {
        "train/reward": "reward/mean",
        "loss/grad_norm": "optimiser/grad_norm",
        "loss/entropy": "policy/entropy",
        "time/step_wall_s": "time/step",
    },
    "rllm": {
        "actor/grad_norm": "optimiser/grad_norm",
        "critic/rewards/mean": "reward/mean",
        "batch/solve_none": "group/all_fail",
        "offpolicy/k3_kl": "policy/kl_sampler_k3",
    },
    "swift": {
        "reward": "reward/mean",
        "frac_reward_zero_std": "group/zero_spread",
        "entropy/mean": "policy/entropy_aggregated",
        "cispo_clip_ratio": "policy/clip/cispo",
    },
}
RECORDED = {  # frameworks that log another's names and no more: the run says which it was
    "unsloth": {"reward": "reward/mean", "kl": "policy/kl_ref_k3", "frac_reward_zero_std": "group/zero_spread"},
    "verifiers": LOGGED["prime_rl"],
}


@pytest.mark.parametrize("framework", LOGGED)
def test_a_run_is_told_by_the_names_it_logged(framework: str) -> None:
    told = spoken(LOGGED[framework])
    assert (told.dialect or "").partition(":")[0] == framework and "names, such as" in told.why


@pytest.mark.parametrize("framework", [*LOGGED, *RECORDED])
def test_what_a_framework_logs_is_found_by_our_name(framework: str) -> None:
    logged = LOGGED.get(framework) or RECORDED[framework]
    run = RunNames([*logged], framework)
    assert {find(ours, run).stored: ours for ours in logged.values()} == logged


@pytest.mark.parametrize(
    ("dialect", "name", "unit", "says"),
    [
        ("slime", "train/pg_clipfrac", "share", "a mean over samples"),
        ("prime_rl", "perf/throughput", "tokens/s/GPU", "all GPUs together"),
        ("areal", "ppo_actor/update/approx_kl/avg", "nats/token", "sign"),
        ("tinker", "env/all/ac_tokens_per_turn", "tokens", "not of a sample"),
        ("art", "val/reward", "score", "no set"),
        ("art", "val/exception_rate", "share", "raised"),
        ("nemo_rl", "validation/accuracy", "score", "all sets together"),
        ("nemo_rl:dpo", "validation-helpsteer/accuracy", "score", "ranked right"),
        ("nemo_rl", "validation/pass_k", "score", "number of a prompt's"),
        ("nemo_rl", "validation/avg_length", "tokens", "all sets together"),
        ("roll", "val_correct/math/mean", "score", "score is 1"),
        ("roll", "val/score/mean", "score", "all environments"),
        ("roll", "val/sokoban/score/mean", "score", "an environment's"),
    ],
)
def test_a_difference_is_told(dialect: str, name: str, unit: str, says: str) -> None:
    match = rs.explain(name, dialect=dialect)
    assert match.unit == unit and match.via is not None and says in match.via.note


def test_a_number_with_the_other_sign_is_read_with_ours() -> None:
    run = RunNames(["ppo_actor/update/approx_kl/avg"], "areal")
    assert find("policy/kl_update_k1", run).scale == -1


@pytest.mark.parametrize(
    ("names", "dialect"),
    [
        (("critic/rewards/mean", "actor/entropy", "timing_s/gen", "response_length/mean"), "verl"),
        (("train/loss", "train/grad_norm", "train/learning_rate", "train/reward", "train/epoch"), "trl"),
        (("reward", "loss", "frac_reward_zero_std", "kl"), "trl:grpo"),
        (("actor/entropy", "timing_s/gen", *(f"perf/part_{i}_time" for i in range(9))), "verl"),
    ],
    ids=str,
)
def test_the_runs_of_others_stay_theirs(names: tuple[str, ...], dialect: str) -> None:
    assert (spoken(names).dialect or "").startswith(dialect)


def test_a_name_without_a_dialect_means_what_it_meant() -> None:
    assert rs.explain("critic/rewards/mean").via.framework == "verl"
    assert rs.explain("train/token_mult_prob_error").name == "mismatch/probs_mult_error"


def test_an_imported_log_is_read_by_our_names(tmp_path: Path) -> None:
    """A W&B export of slime: nothing says which framework it was but its names."""
    rows = [{"_step": step, **{name: step / 10 for name in LOGGED["slime"]}} for step in range(1, 6)]
    (tmp_path / "history.jsonl").write_text("\n".join(map(json.dumps, rows)))
    importer = Importer(tmp_path / "runs")
    importer.take([tmp_path / "history.jsonl"])
    importer.close()
    series = rs.open(tmp_path / "runs").run().series("reward/mean")
    assert [*series["value"]] == [0.1, 0.2, 0.3, 0.4, 0.5]
