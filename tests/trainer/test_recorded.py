"""What a run records: each algorithm's entries, under every framework's names, and samples.

The logged numbers can be computed again from the samples.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rollscope as rs  # noqa: E402
from rollscope.catalog.names.resolve import resolve  # noqa: E402

POLICY = """
    policy/loss/token_mean policy/loss_total policy/entropy policy/entropy_sampled policy/kl_update_k1
    policy/kl_update_k3 policy/kl_ref_k3 policy/kl_sampler_k3 policy/kl_behaviour_k1 policy/ratio/mean
    policy/ratio/outside policy/clip/low policy/clip/high policy/clip/region policy/kl_coef optimiser/grad_norm
    optimiser/lr advantage/mean advantage/std
"""
SAMPLES = """
    reward/generated/mean reward/trained/mean score/generated/std length/prompt/generated/mean
    length/completion/generated/max length/truncated/generated length/aborted/generated stop/stop/generated
    turns/generated/mean group/reward_gini/generated group/length_gini/generated group/length_max_median/generated
    group/zero_spread sample_metric/accuracy/generated/mean reward_component/exact/generated/mean discarded/share
    task_reward/generated/mean balance/mean counter/tokens counter/samples
"""
TIMES = """
    time/step time/active time/forward/microbatch/mean time/generate time/reward time/waiting_for_data
    time/forward time/backward time/optimizer time_per_token/generate
"""
EMITS = {  # the entries of the catalogue that have a finite value in a run of each kind
    "grpo": f"""
        {POLICY} {SAMPLES} {TIMES}
        policy/clip/dual staleness/mean time/ref_logp time/old_logp time/compute_kl time/sync_weights
        perf/throughput eval/sorting-eval/acc/mean@2 eval/sorting-eval/acc/best@2
        eval/sorting-eval/reward/mean@2
    """,
    "ppo": f"""
        {POLICY} {SAMPLES} {TIMES}
        critic/loss critic/explained_variance critic/values/mean critic/returns/mean critic/clip
        time/values time/update_critic reward/score_with_kl
    """,
    "dpo": """
        preference/loss preference/accuracy preference/margin/mean preference/chosen_reward/mean
        preference/rejected_reward/mean preference/logp/chosen/mean policy/entropy optimiser/grad_norm
        optimiser/lr time/step time/forward eval/pairs/acc/mean@1 eval/sorting-eval/acc/mean@2
    """,
    "reward_model": """
        reward_model/loss reward_model/accuracy reward_model/margin/mean optimiser/grad_norm optimiser/lr
        time/step eval/pairs/acc/mean@1
    """,
    "embodied": """
        env/success_once env/success_at_end env/return/mean env/episode_len/mean env/reward env/intervened
        env/step_reward policy/loss/token_mean policy/entropy policy/kl_update_k1 policy/clip/region
        critic/loss critic/explained_variance advantage/mean advantage/max optimiser/grad_norm time/step
        eval/gym-eval/success_once/mean@1
    """,
    "tools": """
        tool/calls/generated/mean tool/failures/generated/mean tool/failure_share turns/generated/max
        sample_metric/total_tool_calls/generated/mean sample_metric/calc_calls/generated/mean
        sample_metric/tool_success_rate/generated/mean length/response/generated/mean
    """,
}


@pytest.mark.parametrize("name", EMITS)
def test_each_algorithm_emits_its_entries(runs, name):
    finite = runs[name].finite
    assert [entry for entry in EMITS[name].split() if entry not in finite] == []


# Every metric name of the five seed documents that applies to a CPU trainer, by dialect. Names that
# need a GPU (perf/mfu/*), a scheduler that logs itself (lr_scheduler/*) or vLLM are left out.
SEEDS = {
    "telescope": """
        entropy kl_divergence_inference grad_norm learning_rate stop_reason_length_pct group_length_gini_mean
        group_length_max_median_ratio_mean timing_step_active timing_forward_microbatch_mean reward_sum_mean
        reward_sum_std reward_sum_min reward_sum_max reward_gini_mean advantage_mean advantage_std
        advantage_min advantage_max length_prompt_mean length_completion_mean length_sum_mean
        timing_step_total timing_forward_total timing_backward_total timing_loss_computation_total
        timing_compute_kl_total timing_compute_entropy_total timing_data_to_device_total
        timing_prepare_tensors_total timing_waiting_for_data timing_weight_sync_trainer_total
        timing_weight_sync_inference_total
    """,
    "verl": """
        val-core/sorting-eval/acc/mean@2 val-aux/sorting-eval/reward/mean@2 val-aux/num_turns/mean actor/loss
        actor/pg_loss actor/entropy_loss actor/kl_loss actor/kl_coef actor/grad_norm actor/entropy
        actor/approx_kl actor/ppo_kl actor/pg_clipfrac actor/lr critic/lr critic/loss critic/value/mean
        critic/values/mean critic/advantages/mean critic/advantages/std critic/rewards/mean
        response_length/mean response_length/max response_length/clip_ratio prompt_length/mean
        prompt_length/clip_ratio response/aborted_ratio num_turns/min num_turns/max num_turns/mean
        global_seqlen/min global_seqlen/max global_seqlen/minmax_diff global_seqlen/balanced_min
        global_seqlen/balanced_max global_seqlen/mean timing_s/step timing_s/gen timing_s/reward
        timing_s/old_log_prob timing_s/ref timing_s/values timing_s/adv timing_s/update_actor
        timing_s/update_critic timing_s/agent_loop/generate_sequences/mean timing_s/agent_loop/tool_calls/max
        timing_per_token_ms/gen timing_per_token_ms/ref timing_per_token_ms/adv
        timing_per_token_ms/update_actor perf/total_num_tokens perf/time_per_step perf/throughput
    """,
    "rlinf": """
        train/actor/approx_kl train/actor/clip_fraction train/actor/clipped_ratio train/actor/grad_norm
        train/actor/lr train/actor/policy_loss train/critic/value_loss train/critic/value_clip_ratio
        train/critic/explained_variance train/entropy_loss train/loss rollout/advantages_max
        rollout/advantages_mean rollout/advantages_min rollout/rewards env/success_once env/episode_len
        env/return env/reward
    """,
    "trl:ppo@1.12": """
        eps objective/kl objective/entropy objective/non_score_reward objective/rlhf_reward objective/scores
        policy/approxkl_avg policy/clipfrac_avg loss/policy_avg loss/value_avg val/clipfrac_avg
        policy/entropy_avg val/ratio val/ratio_var val/num_eos_tokens lr episode
    """,
    "trl:grpo": """
        num_tokens completions/mean_length completions/min_length completions/max_length
        completions/clipped_ratio completions/mean_terminated_length completions/min_terminated_length
        completions/max_terminated_length rewards/exact/mean rewards/exact/std reward reward_std kl entropy
        clip_ratio/low_mean clip_ratio/low_min clip_ratio/high_mean clip_ratio/high_max clip_ratio/region_mean
    """,
    "trl:dpo": """
        rewards/chosen rewards/rejected rewards/margins rewards/accuracies
    """,
    "trl:reward": """
        accuracy margin
    """,
    "trinity": """
        rollout/accuracy/mean rollout/accuracy/max rollout/accuracy/min eval/sorting-eval/acc/mean@2
        eval/sorting-eval/acc/std@2 eval/sorting-eval/acc/best@2 eval/sorting-eval/acc/worst@2 time/eval
        time/wait_explore_step timing_per_token_ms/update_actor timing_per_token_ms/update_critic
        timing_per_token_ms/adv timing_per_token_ms/values experience_pipeline/experience_count
        experience_pipeline/group_advantages/reward_mean/mean sample/model_version/mean sample/task_count
    """,
}


@pytest.mark.parametrize("dialect", SEEDS)
def test_every_seed_name_has_a_finite_value_in_one_of_the_runs(runs, dialect):
    """The value is finite under the framework's own name.

    If theirs is another quantity, ours is finite and the catalogue's note says how they differ.
    """
    written: set[str] = set()
    finite: set[str] = set()
    for run in runs.values():
        finite |= set(run.finite)
        written |= {name for name, value in rs.rename(run.last, dialect).items() if math.isfinite(value)}
    missing = []
    for name in SEEDS[dialect].split():
        meaning = None if name in written else resolve(name, dialect)
        if meaning is not None and not (_is_explained(meaning) and _scoped(meaning.name) & finite):
            missing.append(f"{name} ({meaning.name})")
    assert missing == []


def _is_explained(meaning):
    return meaning.via is not None and not meaning.via.same and bool(meaning.via.note)


def _scoped(name: str) -> set[str]:
    head, _, stat = name.rpartition("/")
    return {name, f"{name}/generated", f"{name}/trained", f"{head}/generated/{stat}", f"{head}/trained/{stat}"}


ARRAYS = ("action_mask", "logp", "old_logp", "ref_logp", "rollout_logp", "entropy")
COMPUTED = """
    policy/entropy policy/entropy_sampled policy/kl_ref_k3 policy/kl_update_k1 policy/kl_sampler_k3 policy/clip/low
    policy/clip/high policy/clip/region policy/ratio/mean advantage/mean
"""


@pytest.mark.parametrize("name", ["grpo", "ppo"])
def test_token_metrics_can_be_computed_again_from_the_stored_samples(runs, name):
    """Entropy, KL and clip fractions from a step's token arrays equal the logged ones."""
    run = runs[name]
    clip = run.reader.config["algorithm"]
    for step in (0, 3, 5):
        rows = run.reader.samples(step=step, where="split = 'train' AND trained")
        arrays = {name: list(rows[name]) for name in ARRAYS}
        clips = {name: clip[name] for name in ("clip_low", "clip_high")}
        again = rs.compute({**arrays, "advantages": list(rows["token_advantages"]), **clips})
        for entry in COMPUTED.split():
            assert again[entry].value == pytest.approx(run.values(entry)[step], rel=1e-6, abs=1e-9), (entry, step)
            assert again[entry].weight == sum(map(sum, rows["action_mask"]))


def test_clipping_happened(runs):
    """Otherwise the comparison above would compare zeros."""
    assert max(runs["grpo"].values("policy/clip/region").values()) > 0


def test_metrics_of_generated_samples_cover_discarded_ones(runs):
    run = runs["grpo"]
    means, shares = run.values("reward/generated/mean"), run.values("discarded/share")
    assert max(shares.values()) > 0, "no group was discarded, so the test shows nothing"
    for step in range(6):
        columns = ["score", "reward", "trained", "discard_reason"]
        rows = run.reader.samples(step=step, where="split = 'train'", columns=columns)
        assert np.mean(rows["reward"]) == pytest.approx(means[step])
        assert np.mean(~rows["trained"].astype(bool)) == pytest.approx(shares[step])
        assert set(rows["discard_reason"][~rows["trained"].astype(bool)]) <= {"zero_advantage"}


@pytest.mark.parametrize("name", ["grpo", "ppo", "tools"])
def test_counters_are_the_counts_of_the_samples(runs, name):
    """Token arrays and sample columns come in two calls a step, and every sample counts once."""
    run = runs[name]
    generated, total = run.values("samples/generated"), run.values("counter/samples")
    counted = 0
    for step in sorted(generated):
        rows = run.reader.samples(step=step, where="split = 'train' AND trained IS NOT NULL", columns=["id"])
        counted += len(rows["id"])
        assert (generated[step], total[step]) == (len(rows["id"]), counted)


def test_a_sample_has_its_text_its_turns_and_its_tools(runs):
    rows = runs["tools"].reader.samples(where="split = 'train' AND tool_calls > 0", limit=5)
    assert len(rows["id"])
    columns = ("id", "prompt", "completion", "tokens", "tool_calls", "sample_metrics")
    for id, prompt, completion, tokens, calls, metrics in zip(*(rows[name] for name in columns), strict=True):
        turns = runs["tools"].reader.turns(id)
        roles = turns["role"].tolist()
        assert prompt.endswith("?") and roles[0] == "assistant" and roles.count("tool") == calls
        assert "".join(text for text in tokens if len(text) == 1) == completion
        assert metrics["total_tool_calls"] == calls == metrics["tool_success_count"] + metrics["tool_error_count"]
        first = roles.index("tool")
        assert turns["tool"][first] in ("calc", "neg") or turns["ok"][first] is np.False_ or not turns["ok"][first]


def test_spans_cover_both_sides_of_a_step(runs):
    spans = runs["grpo"].reader.spans(step=2)
    seen = set(zip(spans["lane"].tolist(), spans["name"].tolist(), strict=True))
    trainer = """
        waiting_for_data prepare_tensors data_to_device old_logp ref_logp advantage update_policy forward
        compute_entropy loss compute_kl backward optimizer pipeline
    """
    assert {("trainer/0", name) for name in trainer.split()} <= seen
    assert {("inference/0", name) for name in ("generate", "env_response", "reward", "sync_weights")} <= seen
    spans = runs["grpo"].reader.spans()
    assert {"evaluate", "save_checkpoint", "sync_weights", "warm_up"} <= set(spans["name"])
    assert set(spans["kind"][spans["name"] == "waiting_for_data"]) == {"wait"}
    assert (spans["end_ns"] >= spans["start_ns"]).all()


def test_embodied_numbers_are_those_of_the_episodes(runs):
    run = runs["embodied"]
    rows = run.reader.samples(step=2, where="split = 'train'")
    metrics = rows["sample_metrics"]
    assert len(metrics) == 8 and {len(text) for text in rows["completion"]} == {24}
    assert np.mean([m["success_once"] for m in metrics]) == pytest.approx(run.values("env/success_once")[2])
    assert np.mean([m["episode_return"] for m in metrics]) == pytest.approx(run.values("env/return/mean")[2])
    assert np.mean([m["intervened"] for m in metrics]) == pytest.approx(run.values("env/intervened")[2])
    assert all(m["success_at_end"] <= m["success_once"] for m in metrics)


def test_how_advantages_are_normalised_is_recorded_with_the_run(runs):
    assert "standard deviation (ddof 1)" in runs["grpo"].reader.config["algorithm"]["advantage_normalisation"]
    assert "whitened" in runs["ppo"].reader.config["algorithm"]["advantage_normalisation"]
    assert runs["grpo"].reader.declared
