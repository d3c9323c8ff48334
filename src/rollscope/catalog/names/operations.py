"""The stages of a training step: our word for each, and the words of the frameworks.

Entries, the `seconds` of a batch and spans share this table. A stage timed under a framework's
word appears under ours. A word that is not in the table stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Operation:
    name: str  # ours, as in time/<name>
    meaning: str
    counts: str  # what the seconds include
    read: str
    check: str
    theirs: tuple[tuple[str, str], ...] = ()  # (framework or framework:trainer, its word)
    tokens: str = ""  # "response" or "all": the tokens that time per token divides by


GENERATION = "Usually the largest part of a step. When it grows, responses got longer or one straggler holds the rest."
OPERATIONS = (
    Operation(
        "generate",
        "Seconds spent generating responses.",
        "from the first request to the last token of the step's samples, tools and "
        "environment included where the framework times them inside",
        GENERATION,
        "length/response/max and group/length_max_median; engine/requests_waiting and engine/preemptions; tool time",
        (("verl", "gen"), ("openrlhf", "generation"), ("rlinf", "generate_rollouts")),
        "response",
    ),
    Operation(
        "generate_baseline",
        "Seconds spent generating the greedy baseline of ReMax.",
        "the second, greedy generation of every prompt",
        "About as long as a generation without sampling; it doubles the cost of rollouts.",
        "whether the algorithm needs it; length/response/mean",
        (("verl", "gen_max"),),
    ),
    Operation(
        "make_experience",
        "Seconds spent making training data out of prompts.",
        "generation, rewards, reference and value passes together, as OpenRLHF times them",
        "Compare with time/update_policy: the longer of the two bounds the step.",
        "time/generate; reward model latency",
        (("openrlhf", "make_experience"),),
    ),
    Operation(
        "reward",
        "Seconds spent scoring samples.",
        "reward functions, verifiers, sandboxes or the reward model, until the last score arrives",
        "Rule rewards take next to nothing. Seconds here are a slow judge, or timeouts that also cost reward.",
        "per-sample reward seconds, is it one straggler; timeouts; number of workers",
        (("verl", "reward"), ("rlinf", "reward")),
    ),
    Operation(
        "old_logp",
        "Seconds spent on log-probabilities under the policy before the update.",
        "one forward pass over prompts and responses, with entropy where it is computed there",
        "About a third of an update pass over the same tokens.",
        "micro-batch size of the pass; balance/after/imbalance",
        (("verl", "old_log_prob"), ("trinity", "old_log_prob"), ("rlinf", "actor/inference")),
        "all",
    ),
    Operation(
        "ref_logp",
        "Seconds spent on log-probabilities under the reference model.",
        "one forward pass over prompts and responses",
        "It takes as long as time/old_logp. It is the price of a KL term.",
        "whether the reference is offloaded between steps; micro-batch size",
        (("verl", "ref"), ("trinity", "ref")),
        "all",
    ),
    Operation(
        "values",
        "Seconds spent on the critic's values.",
        "one forward pass of the critic over prompts and responses",
        "It costs a forward pass of the critic; zero without a critic.",
        "size of the critic; micro-batch size",
        (("verl", "values"), ("trinity", "values"), ("rlinf", "critic/inference")),
        "all",
    ),
    Operation(
        "advantage",
        "Seconds spent turning rewards into advantages.",
        "KL in reward, baselines, normalisation; on the driver",
        "Small. Seconds here are Python over tokens, or the shipping of tensors.",
        "batch size; where the data lives",
        (("verl", "adv"), ("trinity", "adv"), ("rlinf", "cal_adv_and_returns")),
        "all",
    ),
    Operation(
        "update_policy",
        "Seconds spent updating the policy.",
        "forward, backward and optimiser over all mini-batches and epochs of the step",
        "The useful part. Compare with time/generate: the larger one is what to speed up.",
        "perf/mfu/policy; balance/after/imbalance; micro-batch size and recomputation",
        (
            ("verl", "update_actor"),
            ("trinity", "update_actor"),
            ("rlinf", "actor_training"),
            ("rlinf", "actor/training"),
            ("openrlhf", "ppo_train"),
        ),
        "all",
    ),
    Operation(
        "update_critic",
        "Seconds spent updating the critic.",
        "forward, backward and optimiser of the critic over all its mini-batches",
        "Absent without a critic. It may run beside the policy's update or before it.",
        "size of the critic; perf/mfu/critic",
        (("verl", "update_critic"), ("trinity", "update_critic"), ("rlinf", "critic/training")),
        "all",
    ),
    Operation(
        "sync_weights",
        "Seconds spent bringing new weights to the inference engines.",
        "from the first tensor sent to the last engine ready",
        "Grows with model size and falls with bandwidth. Every rollout waits for it when training is synchronous.",
        "time/weight_sync/inference; resharding on the way; network",
        (
            ("verl", "update_weights"),
            ("verl", "param_sync"),
            ("trinity", "sync_weight"),
            ("rlinf", "sync_weights"),
            ("rlinf", "update_rollout_weights"),
            ("openrlhf", "broadcast"),
        ),
    ),
    Operation(
        "evaluate",
        "Seconds spent evaluating.",
        "generation and scoring of the evaluation sets",
        "Not part of a step's work; it explains long gaps between steps.",
        "how often and how many repeats; eval/{set}/tokens",
        (("verl", "testing"), ("trinity", "eval"), ("rlinf", "eval"), ("rlinf", "evaluate"), ("trl", "eval_runtime")),
    ),
    Operation(
        "save_checkpoint",
        "Seconds spent writing a checkpoint.",
        "until training continues",
        "A regular spike. When it grows, the disk is slow or shared.",
        "asynchronous checkpoints; disk throughput",
        (("verl", "save_checkpoint"), ("trinity", "save_checkpoint")),
    ),
    Operation(
        "dump_samples",
        "Seconds spent writing rollouts to disk.",
        "the framework's own dump of generations",
        "Should be nothing. Recording with Rollscope does not need it.",
        "whether both are switched on",
        (("verl", "dump_rollout_generations"),),
    ),
    Operation(
        "profile",
        "Seconds spent starting and stopping a profiler.",
        "the framework's profiler hooks around a step",
        "It appears only while profiling, when all stages are slower.",
        "whether profiling is switched off again",
        (("verl", "start_profile"), ("verl", "stop_profile")),
    ),
    Operation(
        "train_step",
        "Seconds of the trainer's part of a step.",
        "everything the trainer does with one batch, without waiting for it",
        "Against time/step it says how busy the trainer is.",
        "time/waiting_for_data",
        (("trinity", "train_step"), ("rlinf", "training")),
    ),
    Operation(
        "read_samples",
        "Seconds the trainer spent reading its batch.",
        "from asking the buffer to having the batch, waiting included",
        "Long means that rollouts do not keep up.",
        "time/generate; staleness limits; number of engines",
        (("trinity", "read_experience"),),
    ),
    Operation(
        "wait_rollout",
        "Seconds spent waiting for a rollout step to finish.",
        "in the explorer, from asking until the step's tasks are done",
        "The explorer's critical path. One slow task holds the whole step.",
        "stragglers by task; timeouts; time/generate",
        (("trinity", "wait_explore_step"),),
    ),
    Operation(
        "sync_interval_explorer",
        "Seconds between two weight updates of the explorer.",
        "from one synchronisation to the next, in the explorer",
        "How old its weights get.",
        "staleness/mean; sync interval setting",
        (("trinity", "explorer_sync_interval"),),
    ),
    Operation(
        "sync_interval_trainer",
        "Seconds between two weight publications of the trainer.",
        "from one synchronisation to the next, in the trainer",
        "How long explorers work on one version.",
        "staleness/mean; sync interval setting",
        (("trinity", "trainer_sync_interval"),),
    ),
    Operation(
        "prepare_batch",
        "Seconds spent assembling the training batch.",
        "collecting, padding and dealing samples before the update",
        "Small against the update.",
        "where tensors travel; batch size",
        (("rlinf", "construct_rollout_batch"), ("rlinf", "prepare_data")),
    ),
    Operation(
        "recompute_logp",
        "Seconds of RLinf's inference stage.",
        "log-probabilities of the rollouts recomputed by the trainer's model",
        "RLinf reports the minimum over ranks here, so it hides stragglers.",
        "time/old_logp",
        (("rlinf", "inference"),),
    ),
    Operation(
        "rollout",
        "Seconds of RLinf's rollout stage.",
        "generation with the engine, as reasoning runners time it",
        GENERATION,
        "length/response/max; time/generate",
        (("rlinf", "rollout"),),
    ),
    Operation(
        "merge_validation",
        "Seconds spent merging validation results.",
        "in veRL's fully asynchronous trainer",
        "Nothing to watch unless it is seconds.",
        "size of the validation set",
        (("verl", "merge_val"),),
    ),
    Operation(
        "wait_validation",
        "Seconds spent waiting for the last validation to finish.",
        "in veRL's fully asynchronous trainer, before weights are synchronised",
        "Validation that outlasts its interval blocks training.",
        "validation set size; interval",
        (("verl", "wait_last_valid"),),
    ),
    Operation(
        "forward",
        "Seconds of forward passes.",
        "sum over the step's micro-batches on one rank; device time where spans are measured with events",
        "About a third of forward plus backward; a larger share is recomputation or loss work.",
        "time/forward/microbatch/max, one slow micro-batch; padding",
        (("telescope", "forward"), ("trl:async_grpo", "perf/fwd_s"), ("trl:async_grpo@<1.11", "forward_time_s")),
    ),
    Operation(
        "backward",
        "Seconds of backward passes.",
        "sum over the step's micro-batches on one rank",
        "About twice the forward pass, three times with full recomputation.",
        "gradient checkpointing; communication inside the backward pass",
        (("telescope", "backward"),),
    ),
    Operation(
        "forward_backward",
        "Seconds of forward and backward passes together.",
        "sum over the step's micro-batches on one rank",
        "Against the step's seconds it is the share of useful work.",
        "perf/mfu/policy; time/waiting_for_data",
        (("trl:async_grpo", "perf/fwd_bwd_s"),),
    ),
    Operation(
        "optimizer",
        "Seconds of optimiser steps.",
        "sum over the step's updates on one rank, gradient clipping included where it is timed there",
        "Small, except when states are offloaded.",
        "offloading; number of mini-batches",
        (("trl:async_grpo", "perf/optimizer_s"),),
    ),
    Operation(
        "loss",
        "Seconds spent computing the loss.",
        "log-probabilities, ratio, clip and aggregation, without forward and backward",
        "Large vocabularies make it visible.",
        "chunked or fused log-probabilities",
        (("telescope", "loss_computation"),),
    ),
    Operation(
        "compute_kl",
        "Seconds spent computing KL terms.",
        "sum over the step's micro-batches on one rank",
        "Small.",
        "whether it is needed each step",
        (("telescope", "compute_kl"),),
    ),
    Operation(
        "compute_entropy",
        "Seconds spent computing entropy.",
        "sum over the step's micro-batches on one rank",
        "Reading the whole vocabulary costs as much as one pass over the logits.",
        "chunk size; a fused kernel",
        (("telescope", "compute_entropy"),),
    ),
    Operation(
        "data_to_device",
        "Seconds spent copying data to the GPU.",
        "sum over the step's micro-batches on one rank",
        "Milliseconds. More is pageable memory or a busy host.",
        "pinned memory; host load",
        (("telescope", "data_to_device"),),
    ),
    Operation(
        "prepare_tensors",
        "Seconds spent shaping tensors for the pass.",
        "padding, packing and masks, sum over micro-batches on one rank",
        "Milliseconds.",
        "Python work between kernels",
        (("telescope", "prepare_tensors"),),
    ),
    Operation(
        "save_batch",
        "Seconds between two batches handed to the trainer.",
        "the interval between the orchestrator's save_batch events",
        "How fast rollouts make batches; against time/active it says who waits.",
        "time/waiting_for_data; discarded/share",
        (("telescope", "save_batch"),),
    ),
)
TRL_PARTS = {
    "vLLM.generate": "generate",
    "transformers.generate": "generate",
    "transformers.generate_batch": "generate",
    "sync_weights": "sync_weights",
}


@cache
def _words() -> dict[str, str]:
    words = {theirs: operation.name for operation in OPERATIONS for _, theirs in operation.theirs}
    return words | {operation.name: operation.name for operation in OPERATIONS}


def canonical(word: str) -> str:
    """Our word for a stage.

    >>> canonical("gen"), canonical("update_actor"), canonical("my_stage")
    ('generate', 'update_policy', 'my_stage')
    >>> canonical("GRPOTrainer.vLLM.generate")
    'generate'
    """
    return _words().get(word) or _part(word) or word


def _part(word: str) -> str | None:
    """Our word for a part that TRL timed: it puts the name of the trainer's class before it."""
    trainer, _, part = word.partition(".")
    return TRL_PARTS.get(part) if trainer.isidentifier() and trainer.endswith("Trainer") else None
