"""The training metrics glossary, appendix B.4: what to look at first, and how to read it."""

from __future__ import annotations

from .checks import (
    Check,
    alarm,
    computes,
    corrected,
    differs,
    entry,
    every,
    explains,
    in_unit,
    ours,
    page,
    says,
    symptom,
    value,
    watched,
)

V = "verl"
OLD = {"old_logp": [[-1.0] * 4], "action_mask": [[1] * 4], "clip_low": 0.2, "clip_high": 0.2}
MOVED = OLD | {"logp": [[-0.5, -1.0, -1.0, -1.5]], "advantages": [[1.0, 1.0, 1.0, -1.0]]}
PAIRS = {"chosen_logp": [-1.0, -2.0], "rejected_logp": [-3.0, -1.0], "beta": 0.5}
PAIRS |= {"ref_chosen_logp": [-2.0, -2.0], "ref_rejected_logp": [-2.0, -2.0]}
SCORES = {"chosen_score": [2.0, 1.0], "rejected_score": [1.0, 3.0]}
TOKENS = {"prompt_tokens": [10, 10, 10, 10], "response_tokens": [10, 30, 20, 40], "dp_size": 2}
PARTS = ("gen", "reward", "old_log_prob", "ref", "adv", "update_actor", "update_critic", "update_weights")

ITEMS: list[tuple[str, Check]] = [
    # 1. validation
    (
        "val-core/*/acc/mean@1",
        every(
            value(V, "val-core/sorting-eval/acc/mean@2"),
            explains("val-core/any/acc/mean@1", "val-core/{set}/{score}/mean@{k}", V),
        ),
    ),
    ("val-aux/*/reward/mean@1", value(V, "val-aux/sorting-eval/reward/mean@2")),
    *((f"val-aux/num_turns/{stat}", value(V, f"val-aux/num_turns/{stat}")) for stat in ("min", "max", "mean")),
    (
        "validation is read first",
        watched("grpo", "eval/{set}/{score}/mean@{k}", "reward/generated/mean", concern="effectiveness"),
    ),
    ("evaluation runs on held-out tasks", page("environments.md", "so no task is in both")),
    (
        "a drop of validation: first training, then data and reward",
        symptom("validation-drops", "policy/kl_ref_k3", "reward/generated/mean"),
    ),
    # 2. actor
    ("actor/loss", value(V, "actor/loss")),
    ("actor/loss is pg_loss plus regularisers", says("policy/loss_total", "trainer")),
    ("actor/loss should trend down", corrected("actor/loss should trend down.")),
    ("a jump of the loss", says("policy/loss_total", "jump")),
    ("which path logs actor/loss", corrected("actor/loss and critic/loss are logged.")),
    ("actor/pg_loss", value(V, "actor/pg_loss")),
    ("pg_loss is noisy by nature", says("policy/loss/token_mean", "nois")),
    ("actor/entropy_loss", value(V, "actor/entropy_loss")),
    ("actor/kl_loss", value(V, "actor/kl_loss")),
    ("actor/kl_coef", value(V, "actor/kl_coef")),
    ("actor/grad_norm", value(V, "actor/grad_norm")),
    ("a gradient norm at 10 times its normal value", alarm("actor/grad_norm", "above times opening", 10.0)),
    ("a gradient explosion, a bad batch or a numerical issue", says("optimiser/grad_norm", "batch")),
    ("actor/entropy", value(V, "actor/entropy")),
    (
        "entropy is the mean entropy of the policy",
        computes("policy/entropy", {"entropy": [[1.0, 3.0]], "action_mask": [[1, 1]]}, 2.0),
    ),
    ("an early collapse of entropy", symptom("entropy-collapses", "policy/clip/high")),
    ("entropy shows exploration", says("policy/entropy", "explor")),
    ("actor/approx_kl", differs(V, "actor/approx_kl")),
    ("approximate KL between old and new policy", computes("policy/kl_update_k1", MOVED, 0.0)),
    (
        "which keys veRL has",
        corrected("actor/approx_kl, lr_scheduler/*, critic/value/mean, critic/advantages/std are logged."),
    ),
    (
        "KL spikes often precede reward collapse",
        every(says("policy/kl_update_k1", "jump"), alarm("policy/kl_update_k1", "above", 0.015)),
    ),
    ("KL near zero for a long time", symptom("kl-flat", "policy/kl_ref_k3", "optimiser/lr")),
    ("actor/pg_clipfrac", value(V, "actor/pg_clipfrac")),
    ("clip fraction: how often updates are clipped", computes("policy/clip/region", MOVED, 0.5)),
    ("a sustained high clip fraction", alarm("policy/clip/region", "above", 0.2)),
    ("actor/lr", value(V, "actor/lr")),
    ("critic/lr", value(V, "critic/lr")),
    ("lr_scheduler/*", explains("lr_scheduler/anything", "optimiser/scheduler/{state}", V)),
    ("loss, KL and gradient norm spike together: look at the schedule", symptom("all-spike", "optimiser/lr")),
    # 3. critic
    ("critic/loss", value(V, "critic/loss")),
    ("critic/value/mean", every(ours("critic/values/mean"), explains("critic/value/mean", "critic/values", V))),
    ("critic/values/mean, as the code has it", value(V, "critic/values/mean")),
    ("critic/advantages/mean", value(V, "critic/advantages/mean")),
    ("critic/advantages/std", every(ours("advantage/std"), explains("critic/advantages/std", "advantage", V))),
    ("value loss should decrease", entry("critic/loss", good="down")),
    (
        "a value loss that never decreases",
        symptom("critic-never-learns", "critic/explained_variance", "critic/returns/std"),
    ),
    # 4. lengths
    ("response_length/mean", value(V, "response_length/mean")),
    ("response_length/max", value(V, "response_length/max")),
    (
        "response_length/clip_ratio",
        every(
            ours("length/truncated/trained"),
            corrected("response_length/clip_ratio is the share cut by max_response_length."),
        ),
    ),
    ("prompt_length/mean", value(V, "prompt_length/mean")),
    ("prompt_length/clip_ratio", value(V, "prompt_length/clip_ratio")),
    ("response/aborted_ratio", value(V, "response/aborted_ratio")),
    ("aborted_ratio counts empty answers", corrected("response/aborted_ratio is the share of failed generations.")),
    (
        "a high clip ratio means truncation is frequent",
        every(says("length/truncated", "max"), alarm("length/truncated", "above", 0.05)),
    ),
    ("reward rises while length collapses: reward hacking", symptom("eval-stalls", "length/completion/generated/mean")),
    (
        "a high aborted ratio: sampling or runtime",
        every(says("length/aborted", "engine"), alarm("length/aborted", "above", 0.05)),
    ),
    # 5. preference
    (
        "loss/dpo",
        every(ours("preference/loss"), corrected("loss/dpo, rewards/accuracy and rm/* come from the same stacks.")),
    ),
    ("loss/dpo should decrease", entry("preference/loss", good="down")),
    ("rewards/chosen", value("trl:dpo", "rewards/chosen")),
    ("rewards/chosen is the implicit reward", computes("preference/chosen_reward/mean", PAIRS, 0.25)),
    ("rewards/rejected", value("trl:dpo", "rewards/rejected")),
    ("rewards/rejected is the implicit reward", computes("preference/rejected_reward/mean", PAIRS, 0.0)),
    ("rewards/margins", value("trl:dpo", "rewards/margins")),
    ("margins are chosen minus rejected", computes("preference/margin/mean", PAIRS, 0.25)),
    ("rewards/accuracy", every(value("trl:dpo", "rewards/accuracies"), computes("preference/accuracy", PAIRS, 0.5))),
    (
        "margins rise without validation: overfitting",
        symptom("margins-without-gain", "preference/accuracy", "preference/chosen_reward/mean"),
    ),
    # 6. reward model
    ("rm/loss", every(ours("reward_model/loss"), explains("rm/loss", "reward_model/loss"))),
    ("rm/accuracy", every(ours("reward_model/accuracy"), computes("reward_model/accuracy", SCORES, 0.5))),
    ("rm/reward_margin", every(ours("reward_model/margin/mean"), computes("reward_model/margin/mean", SCORES, -0.5))),
    ("rm/grad_norm", every(ours("optimiser/grad_norm"), explains("rm/grad_norm", "reward_model/grad_norm"))),
    (
        "an accurate judge and no gain",
        symptom("judge-without-effect", "reward_model/margin/mean", "reward_model/accuracy"),
    ),
    (
        "a margin that approaches zero",
        every(says("reward_model/margin", "zero"), alarm("reward_model/margin", "below", 0.0)),
    ),
    ("scores change across versions of the reward model", says("reward_model/score", "version")),
    # 7. turns
    *((f"num_turns/{stat}", value(V, f"num_turns/{stat}")) for stat in ("min", "max", "mean")),
    ("num_turns/max suddenly becomes very large", symptom("turns-explode", "tool/failure_share")),
    # 8. balance
    *(
        (f"global_seqlen/{name}", value(V, f"global_seqlen/{name}"))
        for name in ("min", "max", "minmax_diff", "balanced_min", "balanced_max", "mean")
    ),
    ("workload per GPU, not the length of a sequence", computes("balance/mean", TOKENS, 70.0)),
    ("minmax_diff is max minus min", computes("balance/before/spread", TOKENS, 20.0)),
    (
        "minmax_diff is taken before balancing",
        corrected("global_seqlen/minmax_diff tells how unbalanced the GPUs are."),
    ),
    # 9. times
    ("timing_s/step", every(value(V, "timing_s/step"), in_unit("s", V, "timing_s/step", "timing_s/gen"))),
    *((f"timing_s/{name}", value(V, f"timing_s/{name}")) for name in PARTS),
    ("generation is usually the largest part", says("time/generate", "largest")),
    ("first the step, then its parts", symptom("slow", "time/step")),
    *(
        (f"timing_s/agent_loop/generate_sequences/{stat}", value(V, f"timing_s/agent_loop/generate_sequences/{stat}"))
        for stat in ("min", "max", "mean")
    ),
    *(
        (f"timing_s/agent_loop/tool_calls/{stat}", value(V, f"timing_s/agent_loop/tool_calls/{stat}"))
        for stat in ("min", "max", "mean")
    ),
    ("timing_s/agent_loop/slowest/*", value(V, "timing_s/agent_loop/slowest/generate_sequences")),
    *(
        (
            f"timing_per_token_ms/{name}",
            every(value(V, f"timing_per_token_ms/{name}"), in_unit("ms/token", V, f"timing_per_token_ms/{name}")),
        )
        for name in ("gen", "ref", "adv", "update_actor")
    ),
    (
        "milliseconds per token",
        computes(
            "time_per_token/generate",
            {"seconds": {"generate": 2.0}, "response_tokens": [100, 100], "prompt_tokens": [1, 1]},
            0.01,
        ),
    ),
    # 10. performance
    ("perf/total_num_tokens", value(V, "perf/total_num_tokens")),
    ("perf/time_per_step", value(V, "perf/time_per_step")),
    ("perf/throughput", value(V, "perf/throughput")),
    (
        "throughput is tokens per second and GPU",
        computes("perf/throughput", TOKENS | {"seconds": {"step": 7.0}, "gpus": 2}, 10.0),
    ),
    ("perf/mfu/actor_infer", value(V, "perf/mfu/actor_infer")),
    ("perf/mfu/actor", value(V, "perf/mfu/actor")),
    ("MFU is the share of the peak that is used", says("perf/mfu/policy", "peak")),
    (
        "MFU of 50 to 60 % is typical, below 30 % is waiting",
        every(says("perf/mfu/policy", "0.3 to 0.6"), alarm("perf/mfu/policy", "below", 0.3)),
    ),
    # 11. frameworks
    ("veRL and OpenRLHF have columns of their own", corrected("veRL and OpenRLHF share one column of names.")),
    ("policy entropy: actor/entropy", explains("actor/entropy", "policy/entropy", V)),
    ("policy entropy in TRL", corrected("Entropy is policy/approx_kl in TRL.")),
    ("KL divergence: actor/ppo_kl", explains("actor/ppo_kl", "policy/kl_update_k1", V)),
    ("KL divergence in TRL: objective/kl", explains("objective/kl", "policy/kl_ref_sum", "trl:ppo@1.12")),
    ("gradient norm: actor/grad_norm", explains("actor/grad_norm", "optimiser/grad_norm", V)),
    ("response length: response_length/mean", explains("response_length/mean", "length/response", V)),
    ("response length in OpenRLHF: response_length", explains("response_length", "length/response", "openrlhf")),
    ("generation time: timing_s/gen", explains("timing_s/gen", "time/generate", V)),
    ("reward mean: critic/rewards/mean", value(V, "critic/rewards/mean")),
    ("DPO margin is consistent: rewards/margins", explains("rewards/margins", "preference/margin", "trl:dpo")),
    # 12. what to watch
    (
        "PPO and GRPO, effectiveness: accuracy, then reward",
        watched("ppo", "eval/{set}/{score}/mean@{k}", "reward/generated/mean", concern="effectiveness"),
    ),
    (
        "PPO and GRPO, stability: KL, clip fraction, gradient norm, loss",
        watched(
            "grpo",
            "policy/kl_update_k1",
            "policy/clip/region",
            "optimiser/grad_norm",
            "policy/loss_total",
            concern="stability",
        ),
    ),
    (
        "PPO and GRPO, efficiency: throughput, generation",
        watched("grpo", "perf/throughput", "time/generate", concern="efficiency"),
    ),
    (
        "PPO and GRPO, data: length, truncation, balance",
        watched(
            "grpo",
            "length/completion/generated/mean",
            "length/truncated/generated",
            "balance/after/spread",
            concern="data",
        ),
    ),
    (
        "DPO and KTO, effectiveness: margins, accuracy",
        watched("dpo", "preference/margin/mean", "preference/accuracy", concern="effectiveness"),
    ),
    ("DPO and KTO, stability: the loss", watched("dpo", "preference/loss", concern="stability")),
    (
        "DPO and KTO, overfitting: accuracy at 99 %",
        symptom("margins-without-gain", "preference/accuracy", "eval/{set}/{score}/mean@{k}"),
    ),
    (
        "reward model, effectiveness: accuracy, margin",
        watched("reward_model", "reward_model/accuracy", "reward_model/margin/mean", concern="effectiveness"),
    ),
    ("reward model, generalisation: held-out accuracy", ours("eval/pairs/acc/mean@1")),
    ("reward crashes: entropy, then clip fraction", symptom("reward-crashes", "policy/entropy", "policy/clip/region")),
    ("KL spikes: its trend, then the schedule", symptom("kl-spikes", "policy/kl_update_k1", "optimiser/lr")),
    (
        "evaluation stalls: length, then aborted",
        symptom("eval-stalls", "length/completion/generated/mean", "length/aborted/generated"),
    ),
    (
        "training is slow: its parts, then throughput and balance",
        symptom("slow", "time/step", "perf/throughput", "balance/after/spread"),
    ),
]
