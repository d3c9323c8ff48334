"""Seconds of a step by stage: from spans, or from `seconds` of a batch without spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

from rollscope.catalog.names.operations import OPERATIONS, Operation, canonical
from rollscope.catalog.partials.partial import Max
from rollscope.catalog.partials.rate import Cost
from rollscope.catalog.reported import openrlhf, reported, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Name, derived, metric
from rollscope.errors import BadBatch

SPELLED = {
    "verl": "timing_s/{}",
    "openrlhf": "timing/{}",
    "rlinf": "time/{}",
    "trinity": "time/{}",
    "telescope": "timing_{}_total",
    "trl": "{}",
}
FROM_SPANS = ("spans of that name", "or `seconds` of a batch")


@derived
def stages(seconds: Any) -> dict[str, float]:
    """`seconds` with our stage names; stages with the same name of ours are added."""
    if not isinstance(seconds, Mapping):
        raise BadBatch(
            f"batch['seconds'] is {type(seconds).__name__}; expected a mapping from a stage to its seconds, "
            "such as {'generate': 22.5}."
        )
    by_stage: dict[str, float] = {}
    for word, spent in seconds.items():
        if spent is None:
            continue
        if isinstance(spent, str) or not isinstance(spent, SupportsFloat):
            raise BadBatch(f"batch['seconds'][{word!r}] is {spent!r:.40}; expected a number of seconds.")
        name = canonical(str(word))
        by_stage[name] = by_stage.get(name, 0.0) + float(spent)
    return by_stage


@metric(
    "time/{operation}",
    unit="s",
    good="down",
    range=(0.0, None),
    example="seconds={'gen': 22.5}: time/generate = 22.5",
    names=[
        verl("timing_s/{operation}"),
        rlinf("time/{operation}"),
        trinity("time/{operation}"),
        openrlhf("timing/{operation}"),
        telescope("timing_{operation}_total"),
    ],
)
def stage(stages: Any) -> dict[str, Max]:
    """Seconds of one stage of the training step, under the stage's own name.

    Definition: wall seconds on one rank, summed over the step's calls of that stage; the longest of
    several ranks. Measured from spans, or taken from `seconds` of a batch, one reading per step.

    Read: Stages of one lane add up to the step; stages of different lanes overlap. RLinf's worker
    timers (time/env/..., time/rollout/..., time/actor/...) are maxima over ranks.

    Check: time/step first, then the largest stage; the same stage on other ranks: is one slow?
    """
    return {operation: Max.of([spent]) for operation, spent in stages.items()}


def _names(operation: Operation) -> list[Name]:
    """The frameworks' names of a stage; a framework's second name resolves but is never written."""
    names: list[Name] = []
    for who, word in operation.theirs:
        framework, _, rest = who.partition(":")
        trainer, _, versions = rest.partition("@")
        spelled = SPELLED[framework].format(word)
        first = not any(n.framework == framework for n in names)
        note = "" if first else f"the same stage under another name of {framework}"
        names.append(Name(framework, spelled, trainer=trainer, versions=versions, same=first, note=note))
    return names


for _operation in OPERATIONS:
    reported(
        f"time/{_operation.name}",
        meaning=_operation.meaning,
        definition=(
            f"wall seconds of one step on one rank: {_operation.counts}. Calls within a step add up; the longest "
            "of several ranks is used."
        ),
        read=_operation.read,
        check=_operation.check,
        unit="s",
        good="down",
        example=f"seconds={{'{_operation.name}': 5.0}}: 5.0",
        kind="max",
        producer="view over spans",
        needs=FROM_SPANS,
        range=(0.0, None),
        names=_names(_operation),
    )

reported(
    "time/step",
    meaning="Wall time of a training step.",
    definition=(
        "end of step N minus end of step N-1, waiting included; the `step` of `seconds`, if there "
        "are no spans. The longest over ranks."
    ),
    read=(
        "The pace of training. The first step is slower because of compilation and warm-up. Read "
        "its parts before you change anything."
    ),
    check="time/waiting_for_data: who waits for whom?; the largest time/{operation}; perf/throughput",
    unit="s",
    good="down",
    example="40.0",
    kind="max",
    producer="view over spans",
    needs=("the end of each step", "or seconds['step'] of a batch"),
    range=(0.0, None),
    names=(
        verl(
            "timing_s/step",
            note=(
                "the driver's step timer: 0.8 leaves out testing and checkpoints, the V1 trainer of 0.9 "
                "includes checkpoints"
            ),
        ),
        verl("perf/time_per_step"),
        trinity("time/step"),
        trinity("perf/time_per_step"),
        rlinf("time/step"),
        openrlhf(
            "timing/step_total",
            note="synchronous trainers write the sum of the parts, asynchronous trainers write wall time",
        ),
        telescope("timing_step_total"),
        trl(
            "step_time",
            note="training_step time of one optimiser step on this rank, without the loading and logging in between",
        ),
        trl("perf/step_s", trainer="async_grpo"),
        verl("train/time(s)", trainer="sft", same=False, note="seconds of a step of the old FSDP SFT trainer"),
    ),
)
reported(
    "time/active",
    meaning="Time in a step during which the trainer worked.",
    definition=(
        "length of the union of the trainer's spans of the step that are not waits, on one rank; "
        "overlapping spans count once."
    ),
    read=(
        "The rest of time/step is waiting. A trainer that is active half the time needs more "
        "rollouts, not a faster backward pass."
    ),
    check="time/waiting_for_data; time/sync_weights",
    unit="s",
    good="down",
    example="24.0",
    kind="max",
    producer="view over spans",
    needs=("trainer spans",),
    range=(0.0, None),
    names=(
        telescope(
            "timing_step_active",
            same=False,
            note="end of the last event minus start of the first, so idle gaps inside the step count as active",
        ),
    ),
)
reported(
    "time/waiting_for_data",
    meaning="Time the trainer waited for rollouts.",
    definition="sum of the step's spans of kind wait on the trainer's lanes, on one rank; the longest over ranks.",
    read=(
        "High means that generation is the bottleneck. Near zero while the engines are idle means that the trainer is."
    ),
    check="time/generate; engine/requests_waiting; staleness limits that stop generation",
    unit="s",
    good="down",
    example="11.5",
    kind="max",
    producer="view over spans",
    needs=("spans of kind wait",),
    range=(0.0, None),
    names=(
        telescope(
            "timing_waiting_for_data",
            note=(
                "start of a step's first event minus end of the previous step's last event: the same if "
                "nothing else happens in between"
            ),
        ),
        trl("perf/rollout_wait_s", trainer="async_grpo"),
        trl("queue_wait_time_s", trainer="async_grpo", versions="<1.11"),
        verl("fully_async/total_wait_time", note="the fully asynchronous trainer only"),
        verl(
            "timing_s/gen",
            versions=">=0.9",
            same=False,
            note="in the V1 trainer, `gen` measures the wait for the replay buffer, not generation itself",
        ),
    ),
)
for _side, _who in (("trainer", "sends"), ("inference", "receives")):
    reported(
        f"time/weight_sync/{_side}",
        meaning=f"Time a weight update takes on the side that {_who} it.",
        definition=f"first start to last end of the weight-synchronisation spans of the {_side} lanes in a step.",
        read=(
            "The two sides differ by the time that the faster side waits. Long on the inference side and "
            "short on the trainer side: one engine lags behind."
        ),
        check="time/sync_weights; requests that have to drain first; network",
        unit="s",
        good="down",
        example="1.5",
        kind="max",
        producer="view over spans",
        needs=("weight-synchronisation spans",),
        range=(0.0, None),
        names=(
            telescope(
                f"timing_weight_sync_{_side}_total",
                same=_side == "inference",
                note="" if _side == "inference" else "sum of the broadcast spans, not first start to last end",
            ),
            *(
                [
                    trl("perf/weight_sync_s", trainer="async_grpo"),
                    trl("weight_sync_time_s", trainer="async_grpo", versions="<1.11"),
                ]
                if _side == "trainer"
                else []
            ),
        ),
    )
for _part, _what in (
    ("pause", "stopping the engines"),
    ("barrier", "waiting until every rank has arrived"),
    ("transfer", "moving the tensors"),
):
    reported(
        f"time/weight_sync/{_part}",
        meaning=f"Part of a weight update spent on {_what}.",
        definition=f"seconds of the {_part} phase, as the trainer measures it.",
        read="The three phases add up to the update. Work on the largest one first.",
        check="time/weight_sync/trainer; requests in flight for the pause; bandwidth for the transfer",
        unit="s",
        good="down",
        example="0.4",
        kind="max",
        producer="view over spans",
        needs=(f"spans named weight_sync/{_part}",),
        range=(0.0, None),
        names=(trl(f"perf/weight_sync_{_part}_s", trainer="async_grpo"),),
    )
reported(
    "time/{operation}/microbatch",
    meaning="How a stage's time varies between micro-batches.",
    definition=(
        "statistics over the spans of a step that have a micro-batch index, one value per span, "
        "pooled over all ranks; std with ddof 1."
    ),
    read=(
        "Mean times count gives the stage's time. A maximum far above the mean is one long "
        "micro-batch or a hiccup of the machine."
    ),
    check="length of the longest sample; packing; time/{operation}/slowest_rank",
    unit="s",
    good="down",
    example="forward: mean 0.21, max 0.35",
    kind="distribution",
    stats=("mean", "std", "min", "max"),
    producer="view over spans",
    needs=("spans with a micro-batch index",),
    range=(0.0, None),
    names=(telescope("timing_{operation}_microbatch_{mean,std,min,max}", note="rank 0 only"),),
)
reported(
    "time/{operation}/slowest_rank",
    meaning="Seconds of a stage on the slowest rank.",
    definition="sum of the stage's spans of a step on each rank; the largest of these sums.",
    read="Compare with time/{operation} to find stragglers: at the next collective, all ranks wait for this one.",
    check="balance/after/imbalance; host/gpu_clock and temperature of that rank's GPU",
    unit="s",
    good="down",
    example="6.1",
    kind="max",
    producer="view over spans",
    needs=("spans of several ranks",),
    range=(0.0, None),
)
reported(
    "time/microbatches",
    meaning="Micro-batches in a step.",
    definition="number of distinct micro-batch indices among the step's spans on one rank.",
    read="Changes with dynamic batching. More micro-batches with fewer tokens each are slower.",
    check="token budget; batch size",
    unit="count",
    good="context",
    example="16",
    kind="max",
    producer="view over spans",
    needs=("spans with a micro-batch index",),
    range=(0.0, None),
    names=(
        telescope("timing_microbatch_count"),
        trl("batch/microbatches_per_step", trainer="async_grpo"),
    ),
)
reported(
    "time/function/{function}",
    meaning="Seconds of one decorated function of the trainer.",
    definition=(
        "wall seconds of one call of the named function on the main process, as TRL's profiler "
        "measures it. Several calls per step give several values."
    ),
    read="Use it to find a slow reward function. Compare only functions of the same run.",
    check="which function grew; device synchronisation inside it",
    unit="s",
    good="down",
    example="_calculate_rewards: 0.8",
    kind="max",
    producer="view over spans",
    needs=("spans named after the function",),
    range=(0.0, None),
    names=(
        trl(
            "profiling/Time taken: {function}",
            note="written directly to the tracker, once per profiled block; callbacks and TensorBoard do not see it",
        ),
    ),
)

TOKENS = {operation.name: operation.tokens for operation in OPERATIONS if operation.tokens}


@metric(
    "time_per_token/{operation}",
    unit="s/token",
    good="down",
    range=(0.0, None),
    example="old_logp 3 s over 190 tokens: 0.0158",
)
def per_token(stages: Any, prompt_tokens_S: Any, response_tokens_S: Any) -> dict[str, Cost]:
    """Seconds of a stage per token that it processed.

    Definition: time/{operation} / tokens: response tokens for generation, prompt and response
    tokens for passes over whole sequences. Tokens of all parts add up; the seconds are those of the
    step.

    Read: Comparable between runs with different lengths, unlike seconds. Stages without a natural
    token count have no value.

    Check: batch size per pass; sequence length, because attention cost grows with its square;
    perf/mfu/policy.
    """
    counts = {"response": float(response_tokens_S.sum()), "all": float(prompt_tokens_S.sum() + response_tokens_S.sum())}
    return {
        operation: Cost(counts[which], stages[operation]) for operation, which in TOKENS.items() if operation in stages
    }


_THEIRS = {
    "generate": "gen",
    "ref_logp": "ref",
    "values": "values",
    "advantage": "adv",
    "update_critic": "update_critic",
    "update_policy": "update_actor",
}
for _name, _which in TOKENS.items():
    _word = _THEIRS.get(_name)
    _counted = "response tokens" if _which == "response" else "prompt and response tokens"
    reported(
        f"time_per_token/{_name}",
        meaning=f"Seconds of time/{_name} per token.",
        definition=(
            f"time/{_name} / Σ {_counted} of the step. The seconds are those of the step; the tokens are those of "
            "all its parts."
        ),
        read=(
            "Comparable between runs and lengths. A rise at a constant batch size means longer sequences or "
            "a slower machine."
        ),
        check=f"time/{_name}; length/response/mean; batch size per pass",
        unit="s/token",
        good="down",
        example="gen 22.5 s over 127 response tokens: 0.177"
        if _name == "generate"
        else "2.5 s over 190 tokens: 0.0132",
        kind="cost",
        producer="compute",
        needs=("seconds", "prompt_tokens", "response_tokens"),
        range=(0.0, None),
        names=[
            verl(f"timing_per_token_ms/{_word}", scale=1000.0),
            trinity(f"timing_per_token_ms/{_word}", scale=1000.0),
        ]
        if _word
        else [],
    )
