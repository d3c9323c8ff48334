"""Inference engines (vLLM, SGLang): queue, cache, latency and speculative decoding, scraped while they serve."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Mean, Ratio
from rollscope.catalog.reported import reported, telescope, trl, verl
from rollscope.catalog.spec import Alarm, Good, Name, metric

key("spec_drafted", "sample", "draft tokens proposed for the sample by speculative decoding")
key("spec_accepted", "sample", "draft tokens accepted")
key("spec_verified", "sample", "verification steps of the sample")

SCRAPED = ("the engine's /metrics endpoint",)
QUANTILES = ("mean", "p50", "p95", "p99")
PROMETHEUS = {  # what the engines call it themselves; histograms have /mean /p50 /p95 /p99, counters /rate
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
    """Our name for a series of an engine's own endpoint; the name itself where we have none.

    >>> canonical("vllm:num_requests_waiting"), canonical("vllm:time_to_first_token_seconds/p95"), canonical("vllm:num_preemptions_total/rate")
    ('engine/requests_waiting', 'engine/ttft_seconds/p95', 'engine/preemptions')
    """
    stem, slash, stat = name.partition("/")
    ours = PROMETHEUS.get(stem) or PROMETHEUS.get(stem.removesuffix("_total"))
    return name if ours is None else ours if stat in ("", "rate") else f"{ours}{slash}{stat}"


def scraped(
    name: str,
    unit: str,
    good: Good,
    meaning: str,
    definition: str,
    read: str,
    check: str,
    example: str,
    *names: Name,
    **more: Any,
) -> None:
    reported(
        name,
        unit,
        good,
        meaning,
        definition,
        read,
        check,
        example,
        *names,
        **{"kind": "last", "producer": "engine", "needs": SCRAPED, "range": (0.0, None)} | more,
    )


scraped(
    "engine/requests_running",
    "count",
    "context",
    "Requests an engine is working on.",
    "num_requests_running at the time of the scrape, summed over the engine's workers.",
    "Under its limit with a queue behind it, memory holds it back; falling to a few at the end of a step is the long tail.",
    "engine/kv_cache_used; engine/requests_waiting; group/length_max_median",
    "48",
    telescope("requests_running"),
)
scraped(
    "engine/requests_waiting",
    "count",
    "down",
    "Requests in an engine's queue.",
    "num_requests_waiting at the time of the scrape, summed over workers.",
    "A standing queue means too few engines or too little cache; none at all means that engines starve.",
    "engine/kv_cache_used; number of engines; concurrency of the rollout workers",
    "12",
    telescope("requests_waiting"),
)
scraped(
    "engine/kv_cache_used",
    "share",
    "context",
    "Share of the key-value cache in use.",
    "gpu_cache_usage (vLLM) or token_usage (SGLang) at the time of the scrape; the highest of the workers.",
    "Near 1 the engine preempts and recomputes. Above 0.9 with few requests running, answers are too long for the memory left.",
    "engine/preemptions; memory share given to the engine; length/response/max",
    "0.83",
    telescope("cache_usage"),
    range=(0.0, 1.0),
    alarms=[
        Alarm("above", 0.9, "watch", "miles advisory.py: cache bound", "the cache limits how many requests run"),
        Alarm("above", 0.95, "bad", "miles advisory.py: cache bottleneck", "the cache is full: requests are preempted"),
    ],
)
scraped(
    "engine/preemptions",
    "1/s",
    "down",
    "Requests thrown out of the cache to make room, per second.",
    "growth of the engine's preemption counter between two scrapes / the seconds between them.",
    "Every one is generated again from the prompt. Some are normal under load, many are lost work.",
    "engine/kv_cache_used; maximum number of sequences; response limit",
    "3",
    telescope("preemptions_total", same=False, note="the counter since the server started, not its growth"),
)
scraped(
    "engine/cache_hit_share",
    "share",
    "up",
    "Share of prompt tokens found in the prefix cache.",
    "difference of hits / difference of queries between two scrapes.",
    "High for groups that share a prompt and for multi-turn samples. Under 0.1 the prefix cache does nothing.",
    "routing of a group to one engine; whether prefix caching is on; resets at weight updates",
    "0.6",
    telescope("cache_hits_total", same=False, note="the numerator's counter since the server started"),
    telescope("cache_queries_total", same=False, note="the denominator's counter since the server started"),
    kind="ratio",
    range=(0.0, 1.0),
    alarms=[Alarm("below", 0.1, "watch", "miles advisory.py: cache hit", "the prefix cache hardly ever hits")],
)
for _name, _what, _key in (
    ("requests_done", "requests finished", "requests_total"),
    ("prompt_tokens", "prompt tokens read", "prompt_tokens_total"),
    ("generated_tokens", "tokens generated", "generation_tokens_total"),
):
    scraped(
        f"engine/{_name}",
        "1/s",
        "up",
        f"How many {_what} per second.",
        f"growth of the engine's counter of {_what} between two scrapes / the seconds between them.",
        "The engine's own throughput. It falls in the long tail of a step.",
        "engine/requests_waiting; time/generate",
        "18000",
        telescope(_key, same=False, note="the counter since the server started, not its growth"),
    )
for _name, _unit, _what, _key, _hint in (
    ("ttft_seconds", "s", "Time to the first token", "ttft", "Grows with the queue and with prompt length."),
    (
        "latency_seconds",
        "s",
        "Time from a request to its last token",
        "e2e_latency",
        "Follows response length; the 95th percentile is what a step waits for.",
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
        "Time a request waits before it is worked on",
        "queue_time",
        "Zero unless engines are full.",
    ),
    ("inference_seconds", "s", "Time a request is worked on", "inference_time", "Latency without the queue."),
    ("prefill_seconds", "s", "Time spent reading a prompt", "prefill_time", "Long prompts without prefix cache."),
    ("decode_seconds", "s", "Time spent writing a response", "decode_time", "Most of a rollout."),
    ("iteration_tokens", "tokens", "Tokens of an engine iteration", "iteration_tokens", "Small batches waste the GPU."),
    (
        "generated_per_request",
        "tokens",
        "Tokens generated for a request",
        "generation_tokens_per_request",
        "The engine's view of response length.",
    ),
    ("prompt_per_request", "tokens", "Prompt tokens of a request", "prompt_tokens_per_request", "Grows with turns."),
):
    scraped(
        f"engine/{_name}",
        _unit,
        "context" if _unit == "tokens" else "down",
        f"{_what}.",
        f"{_what[0].lower() + _what[1:]}, from the difference of the engine's histogram between two scrapes: mean exact, quantiles to the width of its buckets.",
        _hint,
        "engine/requests_waiting; engine/kv_cache_used; length/response/max",
        "p50 0.2, p95 1.4",
        telescope(
            _key,
            same=False,
            note="sum over count since the server started, so old requests never leave it; buckets are dropped, there are no percentiles",
        ),
        kind="distribution",
        stats=QUANTILES,
    )
scraped(
    "engine/preemptions_per_request",
    "ratio",
    "down",
    "Preemptions for each request finished.",
    "difference of preemptions / difference of finished requests between two scrapes.",
    "Above a few percent the engine redoes work all the time.",
    "engine/kv_cache_used",
    "0.02",
    telescope("preemptions_per_request"),
    kind="ratio",
)
scraped(
    "engine/retries",
    "count",
    "down",
    "Requests to an engine that had to be sent again.",
    "number of retried calls in the logging window.",
    "0. Retries are crashed engines, timeouts or a network that drops.",
    "the engine's log; time limits",
    "0",
    trl("rollout/vllm_retry_total", trainer="async_grpo"),
    kind="sum",
    producer="trainer",
    needs=("the rollout worker's client",),
)


@metric(
    "engine/spec_accept_rate", unit="share", good="up", range=(0.0, 1.0), example="6 of 8 and 2 of 4: 8 / 12 = 0.667"
)
def spec_accept_rate(spec_drafted_S: Any, spec_accepted_S: Any) -> Ratio:
    """Share of draft tokens that speculative decoding accepts.

    Definition: Σ accepted / Σ drafted, over all requests: every draft token counts once.

    Read: The higher the faster. It falls as the policy leaves the draft model behind.

    Check: staleness of the draft model; temperature; engine/spec_accept_length.
    """
    return Ratio(float(np.nansum(spec_accepted_S)), float(np.nansum(spec_drafted_S)))


@metric(
    "engine/spec_accept_length",
    unit="tokens",
    good="up",
    range=(1.0, None),
    example="8 accepted in 6 verifications: 2.33",
)
def spec_accept_length(spec_accepted_S: Any, spec_verified_S: Any) -> Ratio:
    """Tokens that one verification step of speculative decoding yields.

    Definition: 1 + Σ accepted / Σ verification steps, over all requests.

    Read: 1 is no gain, 3 is three tokens for one pass.

    Check: number of draft tokens; engine/spec_accept_rate.
    """
    verified = float(np.nansum(spec_verified_S))
    return Ratio(verified + float(np.nansum(spec_accepted_S)), verified)


def _per_request(num: Any, den: Any, base: float) -> Mean:
    num, den = np.asarray(num, np.float64), np.asarray(den, np.float64)
    return Mean.of(np.where(den > 0, base + num / np.where(den > 0, den, 1.0), 0.0))


@metric("engine/spec_accept_rate_per_request", unit="share", good="up", range=(0.0, 1.0), example="6 of 8, 2 of 4, none of 0: (0.75 + 0.5 + 0) / 3 = 0.417", names=[verl("rollout/spec_accept_rate", versions=">=0.9")])  # fmt: skip
def spec_accept_rate_per_request(spec_drafted_S: Any, spec_accepted_S: Any) -> Mean:
    """Acceptance of draft tokens, every request the same weight: veRL's number.

    Definition: mean over requests of accepted / drafted, with 0 for a request without drafts.

    Read: Short requests weigh as much as long ones, and requests that never drafted pull it down. engine/spec_accept_rate does neither.

    Check: engine/spec_accept_rate; how many requests had no drafts.
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
    """Tokens of a verification step, every request the same weight: veRL's number.

    Definition: mean over requests of 1 + accepted / verification steps, with 0 for a request without any.

    Read: Below 1 means requests without speculation, not worse than none.

    Check: engine/spec_accept_length.
    """
    return _per_request(spec_accepted_S, spec_verified_S, 1.0)
