"""Asynchronous training: waiting times, queues and discarded work.

Reported by veRL fully async, TRL async GRPO, Telescope and RLinf.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rollscope.catalog.reported import reported, rlinf, telescope, trl, verl
from rollscope.catalog.spec import Name

grpo = partial(trl, trainer="async_grpo")
earlier = partial(trl, trainer="async_grpo", versions="<1.11")
queued = partial(reported, needs=("the asynchronous trainer's queues and clocks",))


def fully(key: str, **more: Any) -> tuple[Name, Name]:
    """The names of a key in veRL 0.9 and, without the prefix, in 0.8."""
    return verl(f"fully_async/{key}", versions=">=0.9", **more), verl(key, versions="<0.9", **more)


# Waiting: who waits for whom.
queued(
    "async/trainer_idle",
    meaning="Share of a step in which the trainer waits for samples.",
    definition="seconds of waiting / seconds of the step.",
    read="High: generation limits the run. Near 0 while the engines are idle: the trainer limits it.",
    check="async/rollout_idle; number of engines; staleness limit",
    unit="share",
    good="down",
    example="0.35",
    producer="view over spans",
    names=fully("trainer/idle_ratio", note="timing_s/gen / timing_s/step, where `gen` is the wait"),
)
queued(
    "async/rollout_idle",
    meaning="Share of the time in which rollout workers wait for the trainer.",
    definition="1 - active seconds / seconds of a parameter version.",
    read="High: the trainer limits the run, or the staleness limit stops generation.",
    check="async/trainer_idle; staleness/mean; backpressure",
    unit="share",
    good="down",
    example="0.2",
    producer="view over spans",
    names=fully("rollouter/idle_ratio"),
)
queued(
    "async/rollout_active_seconds",
    meaning="Seconds rollout workers generated within one parameter version.",
    definition="length of the union of all generation spans within the version.",
    read="Compare with async/version_seconds, the length of the version.",
    check="async/rollout_idle",
    unit="s",
    good="context",
    example="31",
    producer="view over spans",
    names=fully("rollouter/active_time"),
)
queued(
    "async/version_seconds",
    meaning="Seconds one parameter version lasted.",
    definition="from one weight update to the next, on the rollout side.",
    read="Shows how often the engines get new weights.",
    check="time/sync_weights",
    unit="s",
    good="down",
    example="40",
    producer="view over spans",
    names=fully("rollouter/version_time"),
)
queued(
    "async/validation_seconds",
    meaning="Seconds validation took on the rollout side.",
    definition="wall time of the validation within a version.",
    read="The engines make no training samples during this time.",
    check="time/evaluate",
    unit="s",
    good="down",
    example="55",
    producer="view over spans",
    names=fully("rollouter/validate_time"),
)
queued(
    "async/backpressure_seconds",
    meaning="Seconds for which rollout workers were held back because the trainer was behind.",
    definition="time blocked on a full queue, in the logging window.",
    read="The trainer is the bottleneck while this is above zero.",
    check="async/trainer_idle; queue size",
    unit="s",
    good="down",
    example="4",
    producer="trainer",
    names=(grpo("rollout/backpressure_s"),),
)
queued(
    "async/rollout_seconds",
    meaning="Seconds of one prompt's whole rollout.",
    definition="from the prompt's start until its last sample is scored, mean in the window.",
    read="Grows with turns and length.",
    check="length/completion/max; tool time",
    unit="s",
    good="down",
    example="12",
    producer="trainer",
    names=(grpo("rollout/duration_s"),),
)
queued(
    "async/score_seconds",
    meaning="Seconds to score one rollout.",
    definition="time inside reward functions, mean in the window.",
    read="A slow judge holds samples back.",
    check="time/reward",
    unit="s",
    good="down",
    example="0.3",
    producer="trainer",
    names=(
        grpo("rollout/score_s"),
        earlier("scoring_time_ms", scale=1000.0),
        grpo("env/reward_s", same=False, note="the environment's own reward"),
    ),
)
queued(
    "async/score_wait_seconds",
    meaning="Seconds a rollout waits before its scoring begins.",
    definition="time between the last token and the scorer's start, mean in the window.",
    read="Above 0 there is a queue in front of the scorer: add workers.",
    check="async/score_queue",
    unit="s",
    good="down",
    example="0.1",
    producer="trainer",
    names=(
        grpo("rollout/score_wait_s"),
        earlier("wait_scoring_ms", scale=1000.0),
    ),
)
queued(
    "async/env_reset_seconds",
    meaning="Seconds to reset an environment.",
    definition="wall time of a reset, mean in the window.",
    read="Long resets mean that sandboxes start slowly.",
    check="pool of environments",
    unit="s",
    good="down",
    example="0.8",
    producer="trainer",
    names=(grpo("env/reset_s"),),
)
queued(
    "async/processing_seconds",
    meaning="Seconds a sample spends in the rollout worker, from its start to its end.",
    definition="statistics over the samples processed in a version.",
    read="The slowest samples hold up weight updates.",
    check="group/length_max_median; partial rollouts",
    unit="s",
    good="down",
    example="mean 9, p99 60",
    producer="view over samples",
    kind="distribution",
    stats=("mean", "min", "max", "p50", "p95", "p99"),
    names=(verl("fully_async/processing_time/{avg=mean,max,min,tp50=p50,tp95=p95,tp99=p99}"),),
)

# Queues, and the limits on them.
queued(
    "async/queue",
    meaning="Samples waiting for the trainer.",
    definition="length of the sample queue when the batch was taken.",
    read="Empty: the trainer waits for samples. Growing: samples age in the queue.",
    check="staleness/mean; async/trainer_idle",
    unit="samples",
    good="context",
    example="24",
    producer="trainer",
    names=(
        grpo("sample/rollout_queue_size"),
        earlier("buffer_qsize"),
        verl("fully_async/monitor/queue/mq_queue_size"),
        rlinf("train/replay_channel_qsize"),
    ),
)
queued(
    "async/queue_seconds",
    meaning="Seconds a sample waited in the queue.",
    definition="time between a sample being finished and being taken, mean over the batch.",
    read="The time waited here becomes staleness.",
    check="staleness/mean; queue limit",
    unit="s",
    good="down",
    example="6",
    producer="trainer",
    names=(grpo("sample/time_in_queue_s"),),
)
queued(
    "async/score_queue",
    meaning="Rollouts waiting to be scored.",
    definition="length of the scoring queue.",
    read="A queue that never empties means that scoring is too slow.",
    check="async/score_seconds",
    unit="samples",
    good="down",
    example="2",
    producer="trainer",
    names=(grpo("rollout/score_queue_size"),),
)
queued(
    "async/in_flight",
    meaning="Rollouts being generated.",
    definition="requests in progress at the time of logging.",
    read="Below the limit while the trainer waits for samples: too few prompts are sent.",
    check="concurrency limit; engine/requests_running",
    unit="samples",
    good="context",
    example="64",
    producer="trainer",
    names=(
        grpo("rollout/inflight"),
        verl("fully_async/monitor/active_tasks_size"),
    ),
)
queued(
    "async/pending",
    meaning="Prompts waiting to be generated.",
    definition="length of the pending queue.",
    read="Empty means that the data loader does not keep up.",
    check="data loader",
    unit="samples",
    good="context",
    example="16",
    producer="framework",
    names=(verl("fully_async/monitor/queue/pending_queue_size"),),
)
queued(
    "async/cancelled",
    meaning="Samples interrupted by a weight update and waiting to continue.",
    definition="length of the cancel queue.",
    read="Many of them mean that weights are updated faster than answers finish.",
    check="async/partial_share",
    unit="samples",
    good="down",
    example="5",
    producer="framework",
    names=(verl("fully_async/monitor/queue/cancel_queue_size"),),
)
queued(
    "async/limit/{setting}",
    meaning="A limit of the asynchronous pipeline.",
    definition="the named constant of the run (required samples, queue size, staleness threshold, concurrency).",
    read="These are constants, logged so that the run can be understood later.",
    check="staleness/max",
    unit="setting",
    good="context",
    example="512",
    producer="framework",
    kind="last",
    names=(verl("fully_async/static/{setting}"),),
)
queued(
    "async/decision/{quantity}",
    meaning="A quantity that veRL's separate-async trainer considers before it switches roles.",
    definition="the named quantity of the switching rule, or the effect of a switch.",
    read="Useful only for tuning the switching rule.",
    check="async/trainer_idle; async/rollout_idle",
    unit="value",
    good="context",
    example="0.4",
    producer="framework",
    names=(
        verl("separate_async/decision/{quantity}"),
        verl("separate_async/switch/{quantity}", same=False, note="the effect of a switch"),
    ),
)

# Samples: written by several versions, stale, dropped, split.
queued(
    "async/partial_samples",
    meaning="Samples written by more than one version of the weights.",
    definition="samples whose generation was interrupted and resumed, within a version.",
    read="Normal with partial rollouts on. Each such sample mixes policies.",
    check="staleness/max; importance correction",
    unit="count",
    good="context",
    example="30",
    producer="framework",
    kind="last",
    names=(verl("fully_async/partial/total_partial_num"),),
)
queued(
    "async/partial_share",
    meaning="Share of samples written by more than one version.",
    definition="partial samples / samples.",
    read="Grows with response length relative to the update interval.",
    check="time/sync_weights; length/response/max",
    unit="share",
    good="context",
    example="0.2",
    producer="framework",
    names=(verl("fully_async/partial/partial_ratio"),),
)
queued(
    "async/partial_span",
    meaning="Largest number of versions that one sample spans.",
    definition="highest difference between the newest and the oldest version of a sample.",
    read="A long span makes it hard to say which policy wrote the sample.",
    check="staleness/max",
    unit="versions",
    good="down",
    example="3",
    producer="framework",
    kind="last",
    names=(verl("fully_async/partial/max_partial_span"),),
)
queued(
    "async/stale_samples",
    meaning="Samples that were stale when processed.",
    definition="prompts whose samples come from an older version, counted since the run began.",
    read="Compare with the staleness limit.",
    check="staleness/mean",
    unit="count",
    good="down",
    example="120",
    producer="framework",
    kind="last",
    names=(
        verl("fully_async/count/stale_samples_processed"),
        verl("fully_async/count/staleness_samples", same=False, note="counts the samples of the current version"),
    ),
)
queued(
    "async/stale_trajectories",
    meaning="Trajectories that were stale when processed.",
    definition="single responses from an older version, counted since the run began.",
    read="Counts responses, whereas async/stale_samples counts prompts.",
    check="staleness/mean",
    unit="count",
    good="down",
    example="480",
    producer="framework",
    kind="last",
    names=(verl("fully_async/count/stale_trajectory_processed"),),
)
queued(
    "async/generated_samples",
    meaning="Samples generated so far.",
    definition="cumulative count of the rollouter.",
    read="Compare with the number trained on: the rest was dropped or is still waiting.",
    check="discarded/share",
    unit="count",
    good="up",
    example="9000",
    producer="framework",
    kind="last",
    names=(verl("fully_async/count/total_generated_samples"),),
)
queued(
    "async/dropped_stale",
    meaning="Samples thrown away because they were too old.",
    definition="samples beyond the staleness limit, in the window (TRL) or since the run began (veRL).",
    read="This work was paid for and not used.",
    check="staleness limit; queue size; trainer speed",
    unit="count",
    good="down",
    example="12",
    producer="view over samples",
    kind="last",
    names=(
        grpo("sample/dropped_stale_total"),
        verl("fully_async/count/dropped_stale_samples"),
    ),
)
queued(
    "async/dropped_oversize",
    meaning="Samples thrown away because they were longer than a packed row.",
    definition="samples that fit into no packed row, in the window.",
    read="A limit that is too low loses the longest answers, which biases training.",
    check="row length; length/total/max",
    unit="count",
    good="down",
    example="0",
    producer="trainer",
    kind="last",
    names=(grpo("batch/dropped_oversize_total"),),
)
queued(
    "async/discarded_unused",
    meaning="Trajectories left over when a step was full.",
    definition="collected trajectories that no step used, as RLinf's async PPO counts them.",
    read="This rollout work is lost in every step.",
    check="batch size compared with the number of environments",
    unit="count",
    good="down",
    example="8",
    producer="framework",
    kind="last",
    names=(rlinf("rollout/discarded_unused_trajs"),),
)
queued(
    "async/average_version",
    meaning="Mean version of the weights that wrote a batch.",
    definition="mean over the batch's cells of the version of the weights that acted.",
    read="The difference to training/policy_version is staleness.",
    check="staleness/mean",
    unit="version",
    good="context",
    example="3.5",
    producer="view over samples",
    kind="last",
    names=(rlinf("train/actor/average_version"),),
)
queued(
    "async/samples_per_rollout",
    meaning="Number of training samples made from one rollout.",
    definition="mean over rollouts; more than one when a rollout is split at forks.",
    read="1 unless histories branch.",
    check="async/fork_share",
    unit="samples",
    good="context",
    example="1.0",
    producer="trainer",
    names=(grpo("rollout/samples_per_rollout"),),
)
queued(
    "async/fork_share",
    meaning="Share of rollouts whose history branched.",
    definition="share of rollouts where a later prompt does not continue the earlier tokens.",
    read="Each branch becomes a sample of its own.",
    check="chat template; histories that were edited",
    unit="share",
    good="context",
    example="0.05",
    producer="trainer",
    names=(grpo("rollout/fork_frac"),),
)
queued(
    "async/realign_share",
    meaning="Share of rollouts whose tokens had to be realigned.",
    definition="share of rollouts where decoding the text and encoding it again changed tokens.",
    read="The log-probabilities of realigned tokens belong to other tokens.",
    check="async/drift_tokens; whether token ids are kept between turns",
    unit="share",
    good="down",
    example="0.02",
    producer="trainer",
    names=(grpo("rollout/realign_frac"),),
)
queued(
    "async/drift_tokens",
    meaning="Tokens that changed when a rollout was realigned.",
    definition="mean over rollouts of the number of tokens that differ.",
    read="Should be 0. More means that turns exchange text instead of tokens.",
    check="async/realign_share",
    unit="tokens",
    good="down",
    example="0.3",
    producer="trainer",
    names=(grpo("rollout/drift_tokens_mean"),),
)

# Packing of samples into rows.
queued(
    "batch/trained_tokens",
    meaning="Tokens in the loss of a step.",
    definition="Σ mask over the step's samples.",
    read="Compare with perf/tokens to see how much of the work is trained on.",
    check="masks; length of prompts compared with responses",
    unit="tokens",
    good="context",
    example="61000",
    producer="view over samples",
    names=(grpo("batch/trained_tokens_per_step"),),
)
queued(
    "batch/groups",
    meaning="Prompt groups in a step.",
    definition="number of different groups among the step's samples.",
    read="Must match the configuration. Fewer means that groups were dropped.",
    check="discarded/share; group ids",
    unit="groups",
    good="context",
    example="16",
    producer="view over samples",
    names=(grpo("batch/groups_per_step"),),
)
queued(
    "batch/samples_per_row",
    meaning="Samples packed into one row.",
    definition="samples / rows of the step.",
    read="Higher means that short samples are packed better.",
    check="batch/row_fill",
    unit="samples",
    good="context",
    example="3.2",
    producer="trainer",
    names=(grpo("batch/samples_per_row"),),
)
queued(
    "batch/row_tokens",
    meaning="Tokens of a packed row.",
    definition="statistics over the step's rows.",
    read="The maximum must fit into memory.",
    check="row length limit",
    unit="tokens",
    good="context",
    example="mean 7400, max 8192",
    producer="trainer",
    kind="distribution",
    stats=("mean", "max"),
    names=(
        grpo("batch/row_tokens_{mean,max}"),
        earlier("train_seq_len", stat="max"),
    ),
)
queued(
    "batch/packing_ratio",
    meaning="How well samples are packed into rows.",
    definition="tokens of the samples / (rows x longest row).",
    read="1 is perfect packing.",
    check="batch/pad_share",
    unit="ratio",
    good="up",
    example="0.9",
    producer="trainer",
    names=(grpo("batch/packing_ratio"),),
)
queued(
    "batch/row_fill",
    meaning="How full a row is.",
    definition="tokens of a row / its limit, mean over rows.",
    read="Low when samples are short and few.",
    check="number of rows per step",
    unit="share",
    good="up",
    example="0.85",
    producer="trainer",
    names=(grpo("batch/row_fill_frac"),),
)
queued(
    "batch/pad_share",
    meaning="Share of forwarded tokens that are padding.",
    definition="padding / forwarded tokens.",
    read="The GPU computes padding for nothing.",
    check="packing; sorting by length",
    unit="share",
    good="down",
    example="0.06",
    producer="trainer",
    names=(grpo("batch/pad_frac"),),
)
queued(
    "batch/masked_share",
    meaning="Share of forwarded tokens that are not in the loss.",
    definition="1 - trained tokens / forwarded tokens without padding: prompts, tool text, filtered samples.",
    read="High in multi-turn runs. A jump means that samples were masked out.",
    check="filter reasons; tool output length",
    unit="share",
    good="context",
    example="0.4",
    producer="trainer",
    names=(grpo("batch/masked_token_frac"),),
)
queued(
    "batch/sample_forwarded_tokens",
    meaning="Tokens of a sample that go through the model.",
    definition="statistics over samples, prompts included.",
    read="This is the sample's length as the GPU sees it.",
    check="length/total/mean",
    unit="tokens",
    good="context",
    example="mean 1900, max 8192",
    producer="view over samples",
    kind="distribution",
    stats=("mean", "max"),
    names=(grpo("sample/forwarded_tokens_{mean,max}"),),
)
queued(
    "batch/sample_trained_tokens",
    meaning="Tokens of a sample that are in the loss.",
    definition="mean over samples of Σ mask.",
    read="This is the sample's length as the loss sees it.",
    check="length/completion/mean",
    unit="tokens",
    good="context",
    example="950",
    producer="view over samples",
    kind="distribution",
    stats=("mean",),
    names=(grpo("sample/trained_tokens_mean", stat="mean"),),
)

_WHOLE_EVENTS = "an event counts as a whole in the window in which it ends"
_NEVER_CANCELLED = "; always 0, because the trainer never writes the event for a cancelled sample"

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
        meaning=f"Share of the engines' capacity spent {_what}.",
        definition=(
            f"lane-seconds spent {_what} / (seconds of the step x lanes). The number of lanes is the number "
            "of requests that may run at the same time."
        ),
        read="Idle capacity was paid for and not used. A large discarded share is work thrown away.",
        check="async/trainer_idle; discarded/share; concurrency limit",
        unit="share",
        good="down" if _kind == "idle" or "discarded" in _kind or "canceled" in _kind else "up",
        example="0.6",
        producer="view over spans",
        needs=("spans of inference lanes",),
        range=(0.0, 1.0),
        names=(
            telescope(
                f"timing_{_kind}_pct",
                scale=100.0,
                note=_WHOLE_EVENTS + (_NEVER_CANCELLED if "cancel" in _kind else ""),
            ),
        ),
    )
for _key, _name, _what in (
    ("inference_time", "generation", "generation call"),
    ("compute_reward_time", "reward", "reward computation"),
):
    reported(
        f"async/average_seconds/{_name}",
        meaning=f"Mean seconds of a {_what}.",
        definition=f"mean over the {_what}s that end in the step's window.",
        read="Follows response length or the speed of the judge.",
        check="length/completion/mean; time/reward",
        unit="s",
        good="down",
        example="8.5",
        producer="view over spans",
        needs=("spans of inference lanes",),
        range=(0.0, None),
        names=(telescope(f"timing_avg_{_key}"),),
    )
