"""Asynchronous training: who waits for whom, what queues up, what is thrown away (veRL fully async, TRL async GRPO, Telescope, RLinf)."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollscope.catalog.reported import reported, rlinf, telescope, trl, verl
from rollscope.catalog.spec import Good, Name, Producer

grpo = partial(trl, trainer="async_grpo")
earlier = partial(trl, trainer="async_grpo", versions="<1.11")
Row = tuple[str, str, Good, str, str, str, str, str, Producer, tuple[Name, ...]]


def fully(key: str, **more: Any) -> tuple[Name, Name]:
    """0.8 writes a key without the prefix that 0.9 gives it."""
    return verl(f"fully_async/{key}", versions=">=0.9", **more), verl(key, versions="<0.9", **more)


WAITING: tuple[Row, ...] = (
    ("async/trainer_idle", "share", "down", "Share of a step in which the trainer waits for samples.", "seconds of waiting / seconds of the step.", "High: generation bounds the run. Near 0 with idle engines: the trainer does.", "async/rollout_idle; number of engines; staleness limit", "0.35", "view over spans", fully("trainer/idle_ratio", note="timing_s/gen over timing_s/step, `gen` being the wait there")),
    ("async/rollout_idle", "share", "down", "Share of the time in which rollout workers wait for the trainer.", "1 - active seconds / seconds of a parameter version.", "High: the trainer bounds the run, or the staleness limit stops generation.", "async/trainer_idle; staleness/mean; backpressure", "0.2", "view over spans", fully("rollouter/idle_ratio")),
    ("async/rollout_active_seconds", "s", "context", "Seconds rollout workers generated within one parameter version.", "union of generation within the version.", "Against async/version_seconds.", "async/rollout_idle", "31", "view over spans", fully("rollouter/active_time")),
    ("async/version_seconds", "s", "down", "Seconds one parameter version lasted.", "from one weight update to the next, on the rollout side.", "How often engines get new weights.", "time/sync_weights", "40", "view over spans", fully("rollouter/version_time")),
    ("async/validation_seconds", "s", "down", "Seconds validation took on the rollout side.", "wall time of the validation within a version.", "Engines do not make training samples meanwhile.", "time/evaluate", "55", "view over spans", fully("rollouter/validate_time")),
    ("async/backpressure_seconds", "s", "down", "Seconds rollout workers were held back because the trainer is behind.", "time blocked on a full queue, in the logging window.", "The trainer is the bottleneck while this is above zero.", "async/trainer_idle; queue size", "4", "trainer", (grpo("rollout/backpressure_s"),)),
    ("async/rollout_seconds", "s", "down", "Seconds of a whole rollout of one prompt.", "from the prompt's start to its last sample scored, mean in the window.", "Grows with turns and length.", "length/completion/max; tool time", "12", "trainer", (grpo("rollout/duration_s"),)),
    ("async/score_seconds", "s", "down", "Seconds of scoring one rollout.", "time inside reward functions, mean in the window.", "Slow judges hold samples back.", "time/reward", "0.3", "trainer", (grpo("rollout/score_s"), earlier("scoring_time_ms", scale=1000.0), grpo("env/reward_s", same=False, note="the environment's own reward"))),
    ("async/score_wait_seconds", "s", "down", "Seconds a rollout waits until scoring begins.", "time between the last token and the scorer's start, mean in the window.", "A queue before the scorer: more workers.", "async/score_queue", "0.1", "trainer", (grpo("rollout/score_wait_s"), earlier("wait_scoring_ms", scale=1000.0))),
    ("async/env_reset_seconds", "s", "down", "Seconds of resetting an environment.", "wall time of a reset, mean in the window.", "Sandboxes that start slowly.", "pool of environments", "0.8", "trainer", (grpo("env/reset_s"),)),
    ("async/processing_seconds", "s", "down", "Seconds from a sample's start to its end in the rollouter.", "statistics over samples processed in a version.", "The tail is what holds weight updates.", "group/length_max_median; partial rollouts", "mean 9, p99 60", "view over samples", (verl("fully_async/processing_time/{avg=mean,max,min,tp50=p50,tp95=p95,tp99=p99}"),)),
)  # fmt: skip
QUEUES: tuple[Row, ...] = (
    ("async/queue", "samples", "context", "Samples waiting for the trainer.", "length of the sample queue when the batch was taken.", "Empty: the trainer waits. Growing: samples age in it.", "staleness/mean; async/trainer_idle", "24", "trainer", (grpo("sample/rollout_queue_size"), earlier("buffer_qsize"), verl("fully_async/monitor/queue/mq_queue_size"), rlinf("train/replay_channel_qsize"))),
    ("async/queue_seconds", "s", "down", "Seconds a sample waited in the queue.", "time between being finished and being taken, mean over the batch.", "Staleness in the making.", "staleness/mean; queue limit", "6", "trainer", (grpo("sample/time_in_queue_s"),)),
    ("async/score_queue", "samples", "down", "Rollouts waiting to be scored.", "length of the scoring queue.", "A standing queue: scoring is too slow.", "async/score_seconds", "2", "trainer", (grpo("rollout/score_queue_size"),)),
    ("async/in_flight", "samples", "context", "Rollouts being generated.", "requests out at the time of logging.", "Below the limit with a hungry trainer: too few prompts are sent.", "concurrency limit; engine/requests_running", "64", "trainer", (grpo("rollout/inflight"), verl("fully_async/monitor/active_tasks_size"))),
    ("async/pending", "samples", "context", "Prompts waiting to be generated.", "length of the pending queue.", "Empty means that data is missing.", "data loader", "16", "framework", (verl("fully_async/monitor/queue/pending_queue_size"),)),
    ("async/cancelled", "samples", "down", "Samples cut off by a weight update and waiting to go on.", "length of the cancel queue.", "Partial rollouts: many of them mean that updates come faster than answers.", "async/partial_share", "5", "framework", (verl("fully_async/monitor/queue/cancel_queue_size"),)),
    ("async/limit/{setting}", "setting", "context", "A limit of the asynchronous pipeline.", "the named constant of the run (required samples, queue size, staleness threshold, concurrency).", "Constants, logged so that a run can be read later.", "staleness/max", "512", "framework", (verl("fully_async/static/{setting}"),)),
    ("async/decision/{quantity}", "value", "context", "What veRL's separate-async trainer weighs before it switches roles.", "the named quantity of the switching rule, or what a switch did.", "For whoever tunes the switching.", "async/trainer_idle; async/rollout_idle", "0.4", "framework", (verl("separate_async/decision/{quantity}"), verl("separate_async/switch/{quantity}", same=False, note="what happened at a switch"))),
)  # fmt: skip
FATES: tuple[Row, ...] = (
    ("async/partial_samples", "count", "context", "Samples written by more than one version of the weights.", "samples whose generation was interrupted and resumed, in a version.", "Normal with partial rollouts on; each mixes policies.", "staleness/max; importance correction", "30", "framework", (verl("fully_async/partial/total_partial_num"),)),
    ("async/partial_share", "share", "context", "Share of samples written by more than one version.", "partial samples / samples.", "Grows with response length against the update interval.", "time/sync_weights; length/response/max", "0.2", "framework", (verl("fully_async/partial/partial_ratio"),)),
    ("async/partial_span", "versions", "down", "Most versions one sample spans.", "highest newest minus oldest version of a sample.", "Long spans make the behaviour policy hard to define.", "staleness/max", "3", "framework", (verl("fully_async/partial/max_partial_span"),)),
    ("async/stale_samples", "count", "down", "Samples that were stale when processed.", "prompts whose samples come from an older version, so far.", "Against the staleness limit.", "staleness/mean", "120", "framework", (verl("fully_async/count/stale_samples_processed"), verl("fully_async/count/staleness_samples", same=False, note="those of the current version"))),
    ("async/stale_trajectories", "count", "down", "Trajectories that were stale when processed.", "single responses from an older version, so far.", "Responses where async/stale_samples counts prompts.", "staleness/mean", "480", "framework", (verl("fully_async/count/stale_trajectory_processed"),)),
    ("async/generated_samples", "count", "up", "Samples generated so far.", "cumulative count of the rollouter.", "Against what was trained on: the rest was dropped or waits.", "discarded/share", "9000", "framework", (verl("fully_async/count/total_generated_samples"),)),
    ("async/dropped_stale", "count", "down", "Samples thrown away for being too old.", "samples beyond the staleness limit, in the window (TRL) or so far (veRL).", "Work that was paid for and not used.", "staleness limit; queue size; trainer speed", "12", "view over samples", (grpo("sample/dropped_stale_total"), verl("fully_async/count/dropped_stale_samples"))),
    ("async/dropped_oversize", "count", "down", "Samples thrown away for being longer than a row.", "samples that fit no packed row, in the window.", "A limit set too low loses the longest answers, which biases training.", "row length; length/total/max", "0", "trainer", (grpo("batch/dropped_oversize_total"),)),
    ("async/discarded_unused", "count", "down", "Trajectories left over when a step was full.", "collected trajectories that no step used, as RLinf's async PPO counts them.", "Rollout work that is lost in every step.", "batch size against number of environments", "8", "framework", (rlinf("rollout/discarded_unused_trajs"),)),
    ("async/average_version", "version", "context", "Mean version of the weights that wrote a batch.", "mean over the batch's cells of the version that acted.", "Distance to training/policy_version is staleness.", "staleness/mean", "3.5", "view over samples", (rlinf("train/actor/average_version"),)),
    ("async/samples_per_rollout", "samples", "context", "Training samples one rollout becomes.", "mean over rollouts; more than one when a rollout is split at forks.", "1 unless histories branch.", "async/fork_share", "1.0", "trainer", (grpo("rollout/samples_per_rollout"),)),
    ("async/fork_share", "share", "context", "Rollouts whose history branched.", "share of rollouts where a later prompt does not continue the earlier tokens.", "Each branch is a sample of its own.", "chat template; edited histories", "0.05", "trainer", (grpo("rollout/fork_frac"),)),
    ("async/realign_share", "share", "down", "Rollouts whose tokens had to be realigned.", "share of rollouts where decoding and encoding again changed tokens.", "Log-probabilities of realigned tokens are of other tokens.", "async/drift_tokens; keep token ids through turns", "0.02", "trainer", (grpo("rollout/realign_frac"),)),
    ("async/drift_tokens", "tokens", "down", "Tokens that changed when a rollout was realigned.", "mean over rollouts of tokens that differ.", "0 is right. More means that text, not tokens, travels between turns.", "async/realign_share", "0.3", "trainer", (grpo("rollout/drift_tokens_mean"),)),
)  # fmt: skip
PACKING: tuple[Row, ...] = (
    ("batch/trained_tokens", "tokens", "context", "Tokens in the loss of a step.", "Σ mask over the step's samples.", "Against perf/tokens: how much of the work is trained on.", "masks; prompts against responses", "61000", "view over samples", (grpo("batch/trained_tokens_per_step"),)),
    ("batch/groups", "groups", "context", "Prompt groups in a step.", "number of different groups among the step's samples.", "Must match the configuration; fewer means dropped groups.", "discarded/share; group ids", "16", "view over samples", (grpo("batch/groups_per_step"),)),
    ("batch/samples_per_row", "samples", "context", "Samples packed into one row.", "samples / rows of the step.", "More is better packing of short samples.", "batch/row_fill", "3.2", "trainer", (grpo("batch/samples_per_row"),)),
    ("batch/row_tokens", "tokens", "context", "Tokens of a packed row.", "statistics over the step's rows.", "The maximum is what memory must hold.", "row length limit", "mean 7400, max 8192", "trainer", (grpo("batch/row_tokens_{mean,max}"), earlier("train_seq_len", stat="max"))),
    ("batch/packing_ratio", "ratio", "up", "Gain of packing.", "tokens of the samples / (rows x longest row).", "1 is perfect.", "batch/pad_share", "0.9", "trainer", (grpo("batch/packing_ratio"),)),
    ("batch/row_fill", "share", "up", "How full a row is.", "tokens of a row / its limit, mean over rows.", "Low with short samples and few of them.", "rows a step", "0.85", "trainer", (grpo("batch/row_fill_frac"),)),
    ("batch/pad_share", "share", "down", "Share of forwarded tokens that are padding.", "padding / forwarded tokens.", "Work for nothing.", "packing; sorting by length", "0.06", "trainer", (grpo("batch/pad_frac"),)),
    ("batch/masked_share", "share", "context", "Share of forwarded tokens that are not in the loss.", "1 - trained tokens / forwarded tokens without padding: prompts, tool text, filtered samples.", "High in multi-turn runs. A jump is samples that were masked out.", "filter reasons; tool output length", "0.4", "trainer", (grpo("batch/masked_token_frac"),)),
    ("batch/sample_forwarded_tokens", "tokens", "context", "Tokens a sample sends through the model.", "statistics over samples, prompts included.", "Length as the GPU sees it.", "length/total/mean", "mean 1900, max 8192", "view over samples", (grpo("sample/forwarded_tokens_{mean,max}"),)),
    ("batch/sample_trained_tokens", "tokens", "context", "Tokens of a sample that are in the loss.", "mean over samples of Σ mask.", "Length as the loss sees it.", "length/completion/mean", "950", "view over samples", (grpo("sample/trained_tokens_mean", stat="mean"),)),
)  # fmt: skip

STATS = {"async/processing_seconds": ("mean", "min", "max", "p50", "p95", "p99"), "batch/row_tokens": ("mean", "max"), "batch/sample_forwarded_tokens": ("mean", "max"), "batch/sample_trained_tokens": ("mean",)}  # fmt: skip
for _name, _unit, _good, _meaning, _definition, _read, _check, _example, _producer, _names in (
    *WAITING,
    *QUEUES,
    *FATES,
    *PACKING,
):
    _shape = (
        {"kind": "distribution", "stats": STATS[_name]}
        if _name in STATS
        else {"kind": "last" if _unit in ("setting", "version", "versions", "count") else "mean"}
    )
    reported(
        _name,
        _unit,
        _good,
        _meaning,
        _definition,
        _read,
        _check,
        _example,
        *_names,
        producer=_producer,
        needs=("the asynchronous trainer's queues and clocks",),
        **_shape,
    )

for _kind, _what in (
    ("generation_normal", "generating samples that are trained on"),
    ("generation_discarded", "generating samples that are thrown away"),
    ("generation_canceled", "generating samples that are cancelled"),
    ("generation_all", "generating"),
    ("compute_reward_normal", "computing rewards of samples that are trained on"),
    ("compute_reward_discarded", "computing rewards of samples that are thrown away"),
    ("compute_reward_canceled", "computing rewards of samples that are cancelled"),
    ("compute_reward_all", "computing rewards"),
    ("idle", "doing nothing"),
):
    reported(
        f"async/lanes/{_kind}",
        "share",
        "down" if _kind == "idle" or "discarded" in _kind or "canceled" in _kind else "up",
        f"Share of the engines' capacity spent {_what}.",
        f"lane-seconds spent {_what} / (seconds of the step x lanes), lanes being the requests that may run at once.",
        "Idle is capacity that was paid for. A large discarded share is work thrown away.",
        "async/trainer_idle; discarded/share; concurrency limit",
        "0.6",
        telescope(
            f"timing_{_kind}_pct",
            scale=100.0,
            note="an event counts wholly in the window of its end; cancelled is always 0 because the trainer never writes that event"
            if "cancel" in _kind
            else "an event counts wholly in the window of its end",
        ),
        producer="view over spans",
        needs=("spans of inference lanes",),
        range=(0.0, 1.0),
    )
for _key, _name, _what in (
    ("inference_time", "generation", "generation call"),
    ("compute_reward_time", "reward", "reward computation"),
):
    reported(
        f"async/average_seconds/{_name}",
        "s",
        "down",
        f"Mean seconds of a {_what}.",
        f"mean over the {_what}s that end in the step's window.",
        "Follows response length, or the judge's speed.",
        "length/completion/mean; time/reward",
        "8.5",
        telescope(f"timing_avg_{_key}"),
        producer="view over spans",
        needs=("spans of inference lanes",),
        range=(0.0, None),
    )
