"""Inference engines (vLLM, SGLang): queues, cache, latency and speculative decoding."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Mean, Ratio
from rollscope.catalog.reported import reported, telescope, trl, verl
from rollscope.catalog.sequence import known
from rollscope.catalog.spec import Alarm, metric

key("spec_drafted", "sample", "draft tokens proposed for the sample by speculative decoding")
key("spec_accepted", "sample", "draft tokens accepted")
key("spec_verified", "sample", "verification steps of the sample")

SCRAPED = ("the engine's /metrics endpoint",)
QUANTILES = ("mean", "p50", "p95", "p99")
PROMETHEUS = {  # an engine's own name -> ours; histograms have /mean /p50 /p95 /p99, counters /rate
    "vllm:num_requests_running": "engine/requests_running",
    "vllm:num_requests_waiting": "engine/requests_waiting",
    "vllm:kv_cache_usage_perc": "engine/kv_cache_used",
    "vllm:gpu_cache_usage_perc": "engine/kv_cache_used",
    "vllm:num_preemptions": "engine/preemptions",
    "vllm:request_success": "engine/requests_done",
    "vllm:prompt_tokens": "engine/prompt_tokens",
    "vllm:generation_tokens": "engine/generated_tokens",
    "vllm:time_to_first_token_seconds": "engine/ttft_seconds",
    "vllm:e2e_request_latency_seconds": "engine/latency_seconds",
    "vllm:inter_token_latency_seconds": "engine/inter_token_seconds",
    "vllm:time_per_output_token_seconds": "engine/inter_token_seconds",
    "vllm:request_queue_time_seconds": "engine/queue_seconds",
    "vllm:request_inference_time_seconds": "engine/inference_seconds",
    "vllm:request_prefill_time_seconds": "engine/prefill_seconds",
    "vllm:request_decode_time_seconds": "engine/decode_seconds",
    "vllm:iteration_tokens_total": "engine/iteration_tokens",
    "vllm:request_generation_tokens": "engine/generated_per_request",
    "vllm:request_prompt_tokens": "engine/prompt_per_request",
    "sglang:num_running_reqs": "engine/requests_running",
    "sglang:num_queue_reqs": "engine/requests_waiting",
    "sglang:token_usage": "engine/kv_cache_used",
    "sglang:cache_hit_rate": "engine/cache_hit_share",
    "sglang:prompt_tokens": "engine/prompt_tokens",
    "sglang:generation_tokens": "engine/generated_tokens",
    "sglang:time_to_first_token_seconds": "engine/ttft_seconds",
    "sglang:e2e_request_latency_seconds": "engine/latency_seconds",
    "sglang:inter_token_latency_seconds": "engine/inter_token_seconds",
}


def canonical(name: str) -> str:
    """Our name for a series of an engine's endpoint; the name itself if we have no other.

    >>> canonical("vllm:num_requests_waiting")
    'engine/requests_waiting'
    >>> canonical("vllm:time_to_first_token_seconds/p95")
    'engine/ttft_seconds/p95'
    >>> canonical("vllm:num_preemptions_total/rate")
    'engine/preemptions'
    """
    stem, slash, stat = name.partition("/")
    ours = PROMETHEUS.get(stem) or PROMETHEUS.get(stem.removesuffix("_total"))
    if ours is None:
        return name
    return ours if stat in ("", "rate") else f"{ours}{slash}{stat}"


_SINCE_START = "the counter since the server started, not its increase"
_RUNNING_MEAN = (
    "sum / count since the server started, so old requests never leave it; its buckets are dropped, so "
    "there are no percentiles"
)


scraped = partial(reported, kind="last", producer="engine", needs=SCRAPED, range=(0.0, None))

scraped(
    "engine/requests_running",
    meaning="Requests that an engine is processing.",
    definition="num_requests_running at the time of the scrape, summed over the engine's workers.",
    read=(
        "Below its limit while requests wait: memory holds the engine back. A fall to a few "
        "requests at the end of a step is the long tail."
    ),
    check="engine/kv_cache_used; engine/requests_waiting; group/length_max_median",
    unit="count",
    good="context",
    example="48",
    names=(telescope("requests_running"),),
)
scraped(
    "engine/requests_waiting",
    meaning="Requests in an engine's queue.",
    definition="num_requests_waiting at the time of the scrape, summed over workers.",
    read=(
        "A queue that never empties means too few engines or too little cache. No queue at all "
        "means that the engines have too little to do."
    ),
    check="engine/kv_cache_used; number of engines; concurrency of the rollout workers",
    unit="count",
    good="down",
    example="12",
    names=(telescope("requests_waiting"),),
)
scraped(
    "engine/kv_cache_used",
    meaning="Share of the key-value cache in use.",
    definition=(
        "gpu_cache_usage (vLLM) or token_usage (SGLang) at the time of the scrape; the highest of the workers."
    ),
    read=(
        "Near 1, the engine preempts requests and computes them again. Above 0.9 with few requests "
        "running, the answers are too long for the remaining memory."
    ),
    check="engine/preemptions; share of memory given to the engine; length/response/max",
    unit="share",
    good="context",
    example="0.83",
    range=(0.0, 1.0),
    alarms=[
        Alarm("above", 0.9, "watch", "miles advisory.py: cache bound", "the cache limits how many requests run"),
        Alarm("above", 0.95, "bad", "miles advisory.py: cache bottleneck", "the cache is full: requests are preempted"),
    ],
    names=(telescope("cache_usage"),),
)
scraped(
    "engine/preemptions",
    meaning="Requests per second that were evicted from the cache to make room.",
    definition="increase in the engine's preemption counter between two scrapes / the seconds between them.",
    read=(
        "Every preempted request is generated again from its prompt. Some are normal under load; many are lost work."
    ),
    check="engine/kv_cache_used; maximum number of sequences; response limit",
    unit="1/s",
    good="down",
    example="3",
    names=(telescope("preemptions_total", same=False, note=_SINCE_START),),
)
scraped(
    "engine/cache_hit_share",
    meaning="Share of prompt tokens found in the prefix cache.",
    definition="increase in hits / increase in queries between two scrapes.",
    read="High for groups that share a prompt and for multi-turn samples. Below 0.1, the prefix cache does nothing.",
    check="whether a group is routed to one engine; whether prefix caching is on; cache resets at weight updates",
    unit="share",
    good="up",
    example="0.6",
    kind="ratio",
    range=(0.0, 1.0),
    alarms=[Alarm("below", 0.1, "watch", "miles advisory.py: cache hit", "the prefix cache hardly ever hits")],
    names=(
        telescope("cache_hits_total", same=False, note="the numerator's counter since the server started"),
        telescope("cache_queries_total", same=False, note="the denominator's counter since the server started"),
    ),
)
for _name, _what, _key in (
    ("requests_done", "requests finished", "requests_total"),
    ("prompt_tokens", "prompt tokens read", "prompt_tokens_total"),
    ("generated_tokens", "tokens generated", "generation_tokens_total"),
):
    scraped(
        f"engine/{_name}",
        meaning=f"Number of {_what} per second.",
        definition=f"increase in the engine's counter of {_what} between two scrapes / the seconds between them.",
        read="The engine's throughput. It falls in the long tail of a step.",
        check="engine/requests_waiting; time/generate",
        unit="1/s",
        good="up",
        example="18000",
        names=(telescope(_key, same=False, note=_SINCE_START),),
    )
for _name, _unit, _what, _key, _hint in (
    ("ttft_seconds", "s", "Time to the first token", "ttft", "Grows with the queue and with prompt length."),
    (
        "latency_seconds",
        "s",
        "Time from a request to its last token",
        "e2e_latency",
        "Follows response length. A step waits for the slowest requests, so read the 95th percentile.",
    ),
    (
        "inter_token_seconds",
        "s",
        "Time between two tokens of a request",
        "itl",
        "Rises with the number of requests that share a batch.",
    ),
    (
        "queue_seconds",
        "s",
        "Time a request waits before its processing begins",
        "queue_time",
        "Zero unless the engines are full.",
    ),
    (
        "inference_seconds",
        "s",
        "Time a request is processed",
        "inference_time",
        "Latency without the time in the queue.",
    ),
    (
        "prefill_seconds",
        "s",
        "Time spent reading a prompt",
        "prefill_time",
        "Long for long prompts without a prefix cache.",
    ),
    ("decode_seconds", "s", "Time spent writing a response", "decode_time", "Takes most of a rollout's time."),
    (
        "iteration_tokens",
        "tokens",
        "Tokens of an engine iteration",
        "iteration_tokens",
        "Small batches leave the GPU idle.",
    ),
    (
        "generated_per_request",
        "tokens",
        "Tokens generated for a request",
        "generation_tokens_per_request",
        "Response length as the engine counts it.",
    ),
    (
        "prompt_per_request",
        "tokens",
        "Prompt tokens of a request",
        "prompt_tokens_per_request",
        "Grows with the number of turns.",
    ),
):
    scraped(
        f"engine/{_name}",
        meaning=f"{_what}.",
        definition=(
            f"{_what[0].lower() + _what[1:]}, from the increase in the engine's histogram between two scrapes. "
            "The mean is exact; quantiles are as precise as the width of the buckets."
        ),
        read=_hint,
        check="engine/requests_waiting; engine/kv_cache_used; length/response/max",
        unit=_unit,
        good="context" if _unit == "tokens" else "down",
        example="p50 0.2, p95 1.4",
        kind="distribution",
        stats=QUANTILES,
        names=(
            telescope(
                _key,
                same=False,
                note=_RUNNING_MEAN,
            ),
        ),
    )
scraped(
    "engine/preemptions_per_request",
    meaning="Preemptions per finished request.",
    definition="increase in preemptions / increase in finished requests between two scrapes.",
    read="Above a few percent, the engine repeats work all the time.",
    check="engine/kv_cache_used",
    unit="ratio",
    good="down",
    example="0.02",
    kind="ratio",
    names=(telescope("preemptions_per_request"),),
)
scraped(
    "engine/retries",
    meaning="Requests to an engine that had to be sent again.",
    definition="number of retried calls in the logging window.",
    read="Should be 0. Retries come from crashed engines, timeouts or a network that drops connections.",
    check="the engine's log; time limits",
    unit="count",
    good="down",
    example="0",
    kind="sum",
    producer="trainer",
    needs=("the rollout worker's client",),
    names=(trl("rollout/vllm_retry_total", trainer="async_grpo"),),
)


@metric(
    "engine/spec_accept_rate", unit="share", good="up", range=(0.0, 1.0), example="6 of 8 and 2 of 4: 8 / 12 = 0.667"
)
def spec_accept_rate(spec_drafted_S: Any, spec_accepted_S: Any) -> Ratio:
    """Share of draft tokens that speculative decoding accepts.

    Definition: Σ accepted / Σ drafted over all requests. Every draft token counts once.

    Read: A higher share means faster decoding. It falls as the policy moves away from the draft
    model.

    Check: staleness of the draft model; temperature; engine/spec_accept_length.
    """
    both = known(spec_accepted_S, spec_drafted_S)
    return Ratio(float(np.sum(spec_accepted_S[both])), float(np.sum(spec_drafted_S[both])))


@metric(
    "engine/spec_accept_length",
    unit="tokens",
    good="up",
    range=(1.0, None),
    example="8 accepted in 6 verifications: 2.33",
)
def spec_accept_length(spec_accepted_S: Any, spec_verified_S: Any) -> Ratio:
    """Tokens produced by one verification step of speculative decoding.

    Definition: 1 + Σ accepted / Σ verification steps, over all requests.

    Read: 1 is no gain. 3 means three tokens per pass.

    Check: number of draft tokens; engine/spec_accept_rate.
    """
    both = known(spec_accepted_S, spec_verified_S)
    verified = float(np.sum(spec_verified_S[both]))
    return Ratio(verified + float(np.sum(spec_accepted_S[both])), verified)


def _per_request(num: Any, den: Any, base: float) -> Mean:
    """Mean over requests of base + num / den, with 0 for a request whose den is 0."""
    both = known(num, den)
    num, den = np.asarray(num, np.float64)[both], np.asarray(den, np.float64)[both]
    return Mean.of(np.where(den > 0, base + num / np.where(den > 0, den, 1.0), 0.0))


@metric(
    "engine/spec_accept_rate_per_request",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="6 of 8, 2 of 4, none of 0: (0.75 + 0.5 + 0) / 3 = 0.417",
    names=[verl("rollout/spec_accept_rate", versions=">=0.9")],
)
def spec_accept_rate_per_request(spec_drafted_S: Any, spec_accepted_S: Any) -> Mean:
    """Mean acceptance rate of draft tokens per request, as veRL logs it.

    Definition: mean over requests of accepted / drafted, with 0 for a request without drafts.

    Read: Short requests count as much as long ones, and requests without drafts lower it.
    engine/spec_accept_rate does neither.

    Check: engine/spec_accept_rate; number of requests without drafts.
    """
    return _per_request(spec_accepted_S, spec_drafted_S, 0.0)


@metric(
    "engine/spec_accept_length_per_request",
    unit="tokens",
    good="up",
    range=(0.0, None),
    example="1.92",
    names=[verl("rollout/spec_accept_length", versions=">=0.9")],
)
def spec_accept_length_per_request(spec_accepted_S: Any, spec_verified_S: Any) -> Mean:
    """Mean tokens per verification step of each request, as veRL logs it.

    Definition: mean over requests of 1 + accepted / verification steps, with 0 for a request
    without verification steps.

    Read: A value below 1 means that some requests did not use speculation. It does not mean that
    speculation slows decoding down.

    Check: engine/spec_accept_length.
    """
    return _per_request(spec_accepted_S, spec_verified_S, 1.0)
