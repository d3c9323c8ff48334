"""Seconds of a sample for generation, tools and scoring; and properties of the slowest sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.at_max import AtMax
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.sequence import floats, of_sequences
from rollscope.catalog.spec import Name, derived, metric

key("num_preempted", "sample", "how often the engine interrupted the sample; negative means not known")


@derived
def sample_seconds_S(generate_seconds_S: Any, tool_seconds_S: Any = None) -> Any:
    """Seconds by which the slowest sample is chosen: generation plus tools, as in veRL."""
    return floats(generate_seconds_S) + (0.0 if tool_seconds_S is None else np.nan_to_num(floats(tool_seconds_S)))


@metric(
    "sample_time/generate",
    unit="s",
    good="down",
    range=(0, None),
    example="samples of 2 s and 4 s: mean 3",
    names=(Name("verl", "timing_s/agent_loop/generate_sequences/{min,max,mean}"),),
)
def generate(generate_seconds_S: Any) -> Distribution:
    """Time spent generating a sample.

    Definition: generate_seconds of every sample, pooled.

    Read: The maximum, not the mean, decides when a synchronous step ends.

    Check: length/completion/max; group/length_max_median; engine/kv_cache_used: is the cache full?
    """
    return Distribution(of_sequences(generate_seconds_S))


@metric(
    "sample_time/tool",
    unit="s",
    good="down",
    range=(0, None),
    example="samples that waited 0 s and 3 s for tools: mean 1.5",
    names=(Name("verl", "timing_s/agent_loop/tool_calls/{min,max,mean}"),),
)
def tool(tool_seconds_S: Any) -> Distribution:
    """Time that a sample spent in tools.

    Definition: tool_seconds of every sample, including samples without a call, pooled.

    Read: While a tool runs, the sample's slot in the engine may be empty.

    Check: tool/by_name/{tool}/seconds_per_call; tool/calls/max; tool/failure_share: are calls
    retried?
    """
    return Distribution(of_sequences(tool_seconds_S))


@metric(
    "sample_time/reward",
    unit="s",
    good="down",
    range=(0, None),
    example="samples scored in 0.1 s and 0.3 s: mean 0.2",
    names=(
        Name("verl", "timing_s/agent_loop/compute_score/{min,max,mean}", versions=">=0.9"),
        Name("trl", "env/reward_s", trainer="async_grpo", stat="mean"),
        Name("telescope", "compute_reward_time", stat="mean", same=False, note="one number per sample"),
    ),
)
def reward(reward_seconds_S: Any) -> Distribution:
    """Time spent scoring a sample.

    Definition: reward_seconds of every sample, pooled.

    Read: Rules are fast; judges and sandboxes are not. A maximum at a round number is a timeout.

    Check: reward/missing; the sandbox or the judge; time/reward.
    """
    return Distribution(of_sequences(reward_seconds_S))


@metric(
    "sample_time/preempted",
    unit="times",
    good="down",
    range=(0, None),
    healthy=(0, 0),
    example="preempted 0, 0 and 3 times: mean 1",
    names=(
        Name(
            "verl",
            "timing_s/agent_loop/num_preempted/{min,max,mean}",
            note="veRL writes -1 if the engine does not say; we leave those samples out",
        ),
    ),
)
def preempted(num_preempted_S: Any) -> Distribution:
    """How often the engine interrupted a sample.

    Definition: num_preempted of every sample for which it is known (not negative), pooled.

    Read: Above 0, the engine's cache is too small for its load, and work is done twice.

    Check: engine/kv_cache_used; the number of requests that run at the same time; length/total/max.
    """
    counts = of_sequences(num_preempted_S)
    return Distribution(counts[counts >= 0])


@metric(
    "sample_time/slowest/generate",
    unit="s",
    good="down",
    range=(0, None),
    example="of samples with 2 + 0 s and 3 + 5 s the second is slowest: 3",
    names=(Name("verl", "timing_s/agent_loop/slowest/generate_sequences"),),
)
def slowest_generate(sample_seconds_S: Any, generate_seconds_S: Any) -> AtMax:
    """Generation time of the slowest sample.

    Definition: generate_seconds of the sample with the largest sum of generation time and tool
    time.

    Read: Compare with sample_time/slowest/tool to see what delayed the step.

    Check: sample_time/slowest/response_tokens; sample_time/slowest/tool.
    """
    return AtMax.of(sample_seconds_S, generate_seconds_S)


@metric(
    "sample_time/slowest/tool",
    unit="s",
    good="down",
    range=(0, None),
    example="of samples with 2 + 0 s and 3 + 5 s the second is slowest: 5",
    names=(Name("verl", "timing_s/agent_loop/slowest/tool_calls"),),
)
def slowest_tool(sample_seconds_S: Any, tool_seconds_S: Any) -> AtMax:
    """Tool time of the slowest sample.

    Definition: tool_seconds of the sample with the largest sum of generation time and tool time.

    Read: If it is nearly all of the sample's time, the step waits for a tool.

    Check: tool/by_name/{tool}/seconds_per_call; tool timeouts.
    """
    return AtMax.of(sample_seconds_S, tool_seconds_S)


@metric(
    "sample_time/slowest/reward",
    unit="s",
    good="down",
    range=(0, None),
    example="the slowest sample was scored in 0.3 s: 0.3",
    names=(Name("verl", "timing_s/agent_loop/slowest/compute_score", versions=">=0.9"),),
)
def slowest_reward(sample_seconds_S: Any, reward_seconds_S: Any) -> AtMax:
    """Scoring time of the slowest sample.

    Definition: reward_seconds of the sample with the largest sum of generation time and tool time.

    Read: Scoring adds this time to the sample that the step waits for.

    Check: sample_time/reward/max.
    """
    return AtMax.of(sample_seconds_S, reward_seconds_S)


@metric(
    "sample_time/slowest/prompt_tokens",
    unit="tokens",
    good="context",
    range=(0, None),
    example="the slowest sample's prompt has 900 tokens: 900",
    names=(Name("verl", "timing_s/agent_loop/slowest/prompt_length"),),
)
def slowest_prompt(sample_seconds_S: Any, prompt_tokens_S: Any) -> AtMax:
    """Prompt length of the slowest sample.

    Definition: prompt_tokens of the sample with the largest sum of generation time and tool time.

    Read: A long prompt points to prefill, or to history that accumulates over turns.

    Check: length/prompt/max; sample_time/slowest/response_tokens.
    """
    return AtMax.of(sample_seconds_S, prompt_tokens_S)


@metric(
    "sample_time/slowest/response_tokens",
    unit="tokens",
    good="context",
    range=(0, None),
    example="the slowest sample's response has 4096 tokens: 4096",
    names=(Name("verl", "timing_s/agent_loop/slowest/response_length"),),
)
def slowest_response(sample_seconds_S: Any, response_tokens_S: Any) -> AtMax:
    """Response length of the slowest sample.

    Definition: response_tokens of the sample with the largest sum of generation time and tool time.

    Read: At the length limit, the slowest sample was truncated, and the step waited for nothing.

    Check: length/truncated; group/length_max_median.
    """
    return AtMax.of(sample_seconds_S, response_tokens_S)


@metric(
    "sample_time/slowest/preempted",
    unit="times",
    good="down",
    range=(0, None),
    example="the slowest sample was preempted twice: 2",
    names=(
        Name(
            "verl",
            "timing_s/agent_loop/slowest/num_preempted",
            note="veRL writes -1 if the engine does not say; we leave those samples out",
        ),
    ),
)
def slowest_preempted(sample_seconds_S: Any, num_preempted_S: Any) -> AtMax:
    """How often the engine interrupted the slowest sample.

    Definition: among the samples for which the engine says num_preempted, that of the sample with
    the largest sum of generation time and tool time. If the engine does not say it of the slowest
    sample of all, the slowest of the others counts.

    Read: Above 0, the engine caused the wait, not the policy.

    Check: sample_time/preempted/max; engine/kv_cache_used.
    """
    counts = floats(num_preempted_S)
    return AtMax.of(sample_seconds_S, np.where(counts < 0, np.nan, counts))
