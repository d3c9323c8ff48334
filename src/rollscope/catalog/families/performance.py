"""Use of the hardware: tokens, throughput, and the share of the GPUs' peak spent on model FLOPs."""

from __future__ import annotations

import math
from typing import Any

from rollscope.catalog.flops import peak_tflops, training_flops
from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Sum
from rollscope.catalog.partials.rate import Rate, Utilisation
from rollscope.catalog.reported import reported, rlinf, trinity, trl, verl
from rollscope.catalog.spec import Alarm, derived, metric

key("critic_model", "object", "the critic's configuration, for counting FLOPs")
key("update_epochs", "step", "passes of the update over the batch; 1 if not given")
key("gpu_peak_tflops", "step", "peak of one GPU, if the table does not know its name")

ROLES = {
    "policy": ("update_policy", 1.0),
    "policy_infer": ("old_logp", 1 / 3),
    "reference": ("ref_logp", 1 / 3),
    "critic": ("update_critic", 1.0),
}
UNKNOWN_GPU, UNKNOWN_MODEL = 1.0, 2.0  # indices into rate.REASONS


@metric(
    "perf/tokens",
    unit="tokens",
    good="context",
    range=(0.0, None),
    example="prompts 63 and responses 127: 190",
    names=[
        verl("perf/total_num_tokens"),
        trinity("perf/total_num_tokens"),
        verl("train/global_tokens", trainer="sft"),
        trl(
            "batch/forwarded_tokens_per_step",
            trainer="async_grpo",
            note="includes padding and rows that were forwarded twice",
        ),
    ],
)
def tokens(sequence_tokens_S: Any) -> Sum:
    """Tokens of the step: prompts and everything after them.

    Definition: sum over samples of prompt_tokens + response_tokens; tool text counts, padding does
    not.

    Read: The size of the step. If it grows at a constant batch size, responses are growing.

    Check: length/response/mean; discarded/share; batch size.
    """
    return Sum.of(sequence_tokens_S)


@metric(
    "perf/throughput",
    unit="tokens/s/GPU",
    good="up",
    range=(0.0, None),
    example="190 tokens, 40 s, 8 GPUs: 0.594",
    names=[
        verl("perf/throughput"),
        trinity("perf/throughput"),
        trl(
            "perf/forwarded_tok_s_wall_clock",
            trainer="async_grpo",
            same=False,
            note="all GPUs of the trainer together, without the GPUs of generation",
        ),
        trl(
            "training_tok/s",
            trainer="async_grpo",
            versions="<1.11",
            same=False,
            note="a mean of the rates of micro-batches; replaced in 1.11 because it was hard to interpret",
        ),
    ],
)
def throughput(sequence_tokens_S: Any, step_seconds: Any, gpus: Any) -> Rate:
    """Tokens per second and GPU: the speed of training.

    Definition: Σ (prompt_tokens + response_tokens) / (seconds of the step * gpus). Tokens of all
    parts add up; the seconds are the longest that any part reported. `gpus` counts all GPUs of the
    job.

    Read: The main measure of efficiency. Compare at equal lengths, because short responses have
    more overhead per token.

    Check: time/generate and time/waiting_for_data; perf/mfu/policy; balance/after/imbalance.
    """
    return Rate(float(sequence_tokens_S.sum()), step_seconds * gpus)


@derived
def step_seconds(stages: Any) -> float | None:
    seconds: float | None = stages.get("step")
    return seconds


@derived
def gpu_peak(gpu_name: Any = "", gpu_peak_tflops: Any = None) -> float | None:
    """Peak TFLOP/s of one GPU; NaN for an unknown GPU, None if no GPU is named."""
    if gpu_peak_tflops:
        return float(gpu_peak_tflops)
    return (peak_tflops(gpu_name) or math.nan) if gpu_name else None


def _utilisation(flops: float | None, peak: float, seconds: float, gpus: float) -> Utilisation:
    if flops is None or math.isnan(peak):
        return Utilisation(why=UNKNOWN_MODEL if flops is None else UNKNOWN_GPU)
    return Utilisation(flops, seconds * gpus * peak * 1e12)


@metric(
    "perf/mfu/{role}",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="34.55 TFLOP/s on 8 H100: 0.00437",
    healthy=(0.3, 0.6),
    alarms=[
        Alarm(
            "below",
            0.3,
            "watch",
            "training metrics glossary, section 10",
            "GPUs wait: communication, data loading or imbalance",
        ),
        Alarm("below", 0.15, "bad", "miles advisory.py, low MFU over three steps", "most of the hardware idles"),
    ],
)
def mfu(
    sequence_tokens_S: Any,
    stages: Any,
    gpus: Any,
    model: Any,
    gpu_peak: Any,
    critic_model: Any = None,
    update_epochs: Any = None,
) -> dict[str, Utilisation]:
    """Model FLOPs utilisation of a role: policy, policy_infer, reference or critic.

    Definition: model FLOPs of the role's stage / (its seconds * gpus * peak FLOP/s of one GPU).
    Update stages count 6 N tokens + attention, times update_epochs; forward stages count a third of
    that. NaN, with a reason, when the GPU or the model is unknown.

    Read: 0.3 to 0.6 is usual in training. It counts only necessary work, so recomputation lowers
    it.

    Check: micro-batch size; padding and packing; balance/after/imbalance; communication.
    """
    by_role: dict[str, Utilisation] = {}
    for role, (stage, share) in ROLES.items():
        config = critic_model if role == "critic" else model
        if stage not in stages or config is None:
            continue
        flops = training_flops(config, sequence_tokens_S)
        passes = share * (update_epochs or 1.0) if share == 1.0 else share
        by_role[role] = _utilisation(None if flops is None else flops * passes, gpu_peak, stages[stage], gpus)
    return by_role


for _role, _what, _stage, _theirs in (
    ("policy", "policy update", "time/update_policy", "actor"),
    ("policy_infer", "pass for old log-probabilities", "time/old_logp", "actor_infer"),
    ("critic", "critic update", "time/update_critic", "critic"),
    ("reference", "reference pass", "time/ref_logp", ""),
):
    _infer = _role in ("policy_infer", "reference")
    _flops = "a third of 6 N tokens + attention" if _infer else "6 N tokens + attention, times update_epochs"
    reported(
        f"perf/mfu/{_role}",
        meaning=f"Model FLOPs utilisation of the {_what}.",
        definition=(
            f"model FLOPs of the {_what} / ({_stage} * gpus * peak of one GPU). Model FLOPs are {_flops}. "
            "NaN, with a reason, when the GPU or the model is unknown."
        ),
        read=(
            "0.3 to 0.6 is usual for updates, less for forward passes. Under 0.3 there is room; "
            "under 0.15 most of the hardware idles."
        ),
        check="micro-batch size; padding; balance/after/imbalance; offloading between stages",
        unit="share",
        good="up",
        example="0.42",
        kind="utilisation",
        producer="compute",
        needs=(
            "seconds",
            "prompt_tokens",
            "response_tokens",
            "gpus",
            "gpu_name",
            "critic_model" if _role == "critic" else "model",
        ),
        range=(0.0, 1.0),
        healthy=(0.3, 0.6),
        alarms=[]
        if _infer
        else [
            Alarm("below", 0.3, "watch", "training metrics glossary, section 10", "GPUs wait"),
            Alarm("below", 0.15, "bad", "miles advisory.py", "most of the hardware idles"),
        ],
        names=(
            *(
                [verl(f"perf/mfu/{_theirs}", note=_note), trinity(f"perf/mfu/{_theirs}", note=_note)]
                if _theirs
                and (_note := "0 for a GPU or a model type that its tables do not know; ours is NaN, with the reason")
                else []
            ),
            *(
                [verl("train/mfu", trainer="sft"), trl("perf/mfu_fwd_bwd", trainer="async_grpo")]
                if _role == "policy"
                else []
            ),
        ),
    )

reported(
    "perf/mfu_wall_clock",
    meaning="Model FLOPs utilisation over the whole step, waiting included.",
    definition="model FLOPs of the update / (seconds of the step * trainer GPUs * peak).",
    read="Compare with perf/mfu/policy to see how much the trainer waits.",
    check="time/waiting_for_data; time/sync_weights",
    unit="share",
    good="up",
    example="0.18",
    producer="trainer",
    needs=("model FLOPs and step seconds",),
    range=(0.0, 1.0),
    names=(trl("perf/mfu_wall_clock", trainer="async_grpo"),),
)
for _name, _what, _key in (
    ("forwarded_fwd_bwd", "tokens forwarded per second of forward and backward work", "perf/forwarded_tok_s_fwd_bwd"),
    ("forwarded_wall_clock", "tokens forwarded per second of the step", "perf/forwarded_tok_s_wall_clock"),
    ("trained_wall_clock", "tokens in the loss per second of the step", "perf/trained_tok_s_wall_clock"),
    ("generated", "tokens generated per second by the rollout workers", "rollout/generated_tok_s"),
):
    reported(
        f"perf/tokens_per_second/{_name}",
        meaning=f"Speed: {_what}.",
        definition=f"{_what}, all GPUs together, sum over sum in the logging window.",
        read=(
            "Differences between these speeds show padding, waiting and work. Generation must keep up with training."
        ),
        check="time/waiting_for_data; batch/pad_share; staleness/mean",
        unit="tokens/s",
        good="up",
        example="5200",
        kind="ratio",
        producer="trainer",
        needs=("token counts and step seconds",),
        range=(0.0, None),
        names=(
            trl(
                _key,
                trainer="async_grpo",
                note="all GPUs of the trainer together; perf/throughput is per GPU of the whole job",
            ),
            *(
                [
                    trl(
                        "generation_tok_per_s",
                        trainer="async_grpo",
                        versions="<1.11",
                        same=False,
                        note="a mean of rates, one per generation call",
                    )
                ]
                if _name == "generated"
                else []
            ),
        ),
    )
for _stage in ("rollout", "inference", "training"):
    reported(
        f"perf/tflops/{_stage}",
        meaning=f"Model TFLOP/s of one GPU in RLinf's {_stage} stage.",
        definition=(
            f"model FLOPs of the {_stage} stage / its seconds / GPUs. Training counts as three forward passes."
        ),
        read="Divide by the GPU's peak for a utilisation.",
        check="perf/mfu/policy; time of the stage",
        unit="TFLOP/s/GPU",
        good="up",
        example="210",
        range=(0.0, None),
        names=(
            rlinf(f"flops/{_stage}_tflops_per_gpu"),
            rlinf(f"rollout/{_stage}_tflops", same=False, note="TFLOPs of the batch, not divided by seconds or GPUs"),
        ),
    )
for _key, _name, _unit, _what in (
    (
        "eval_samples_per_second",
        "samples_per_second/eval",
        "samples/s",
        "samples evaluated per second of the evaluation loop",
    ),
    ("eval_steps_per_second", "steps_per_second/eval", "1/s", "evaluation steps per second"),
    (
        "train_samples_per_second",
        "samples_per_second/run",
        "samples/s",
        "training samples per second over the whole run",
    ),
    ("train_steps_per_second", "steps_per_second/run", "1/s", "optimiser steps per second over the whole run"),
    ("train_tokens_per_second", "tokens_per_second/run", "tokens/s", "training tokens per second over the whole run"),
    ("eps", "episodes_per_second/run", "1/s", "episodes per second since the run began, cut to a whole number"),
):
    reported(
        f"perf/{_name}",
        meaning=f"Speed: {_what}.",
        definition=(
            f"{_what}, from the trainer's own clock. A value for the whole run is a mean since the run began, "
            "so it reacts slowly."
        ),
        read="Gives a rough idea. perf/throughput says more about a step.",
        check="time/step",
        unit=_unit,
        good="up",
        example="12",
        kind="last",
        producer="trainer",
        needs=("the trainer's own clock",),
        range=(0.0, None),
        names=(trl(_key, trainer="ppo" if _key == "eps" else "", versions="<1.13" if _key == "eps" else ""),),
    )
for _key, _name, _unit, _what in (
    ("train_runtime", "run_seconds", "s", "Seconds of the whole run."),
    ("total_flos", "run_flops", "FLOP", "Floating point operations of the whole run, by Hugging Face's estimate."),
    ("train_loss", "run_loss", "nats/token", "Mean training loss over the whole run."),
):
    reported(
        f"perf/{_name}",
        meaning=_what,
        definition="written once by the Hugging Face trainer, when training ends.",
        read="A summary of the run, not a series.",
        check="time/step for the speed",
        unit=_unit,
        good="context",
        example="2.98",
        kind="last",
        producer="trainer",
        needs=("the end of training",),
        names=(trl(_key),),
    )
