"""Tools: calls, failures and time, in total and per tool."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Ratio, Sum
from rollscope.catalog.reported import reported
from rollscope.catalog.sequence import floats, known, of_sequences, share
from rollscope.catalog.spec import Name, metric

key("tools", "table", "tool -> {calls, failures, seconds}, each [B]")
key("tool_unknown", "sample", "calls of a tool that does not exist")

_PER_SAMPLE = "a number per sample, averaged over samples with and without calls"


@metric(
    "tool/calls",
    unit="calls",
    good="context",
    range=(0, None),
    scoped=True,
    example="samples with 0, 1 and 2 calls: mean 1",
    names=(
        Name("verl", "tool_call_counts/{min,max,mean}"),
        Name(
            "trl",
            "tools/call_frequency",
            trainer="grpo,async_grpo,distillation",
            stat="mean",
            note="calls over samples",
        ),
        Name("rlinf", "agent/mean/tool_calls_per_rollout", stat="mean"),
        Name(
            "telescope",
            "total_tool_calls",
            stat="mean",
            same=False,
            note=(
                "one number per sample; as a series it is reward_total_tool_calls_mean, our "
                "sample_metric/total_tool_calls"
            ),
        ),
    ),
)
def calls(tool_calls_S: Any) -> Distribution:
    """Number of tool calls of a sample.

    Definition: tool_calls of every sample, including samples without a call, pooled.

    Read: Shows whether the policy uses its tools. A fall to 0 means that the policy learned to do
    without them, often because calls fail or the format is hard.

    Check: tool/failure_share; tool/used_share; reward_component/{component}: do calls cost reward?
    """
    return Distribution(of_sequences(tool_calls_S))


@metric(
    "tool/failures",
    unit="calls",
    good="down",
    range=(0, None),
    scoped=True,
    example="samples with 0, 1 and 2 failed calls: mean 1",
    names=(
        Name("telescope", "tool_error_count", stat="mean", same=False, note=_PER_SAMPLE),
        Name(
            "telescope",
            "tool_success_count",
            stat="mean",
            same=False,
            note="successful calls per sample: calls minus failures",
        ),
    ),
)
def failures(tool_failures_S: Any) -> Distribution:
    """Number of failed tool calls of a sample.

    Definition: tool_failures of every sample, pooled.

    Read: Compare with tool/calls. A high maximum is one sample in a loop of retries.

    Check: tool/failure_share; tool/by_name/{tool}/failure_share: which tool?; the results of the
    failed calls.
    """
    return Distribution(of_sequences(tool_failures_S))


@metric(
    "tool/failure_share",
    unit="share",
    good="down",
    range=(0, 1),
    example="10 calls of which 2 failed: 0.2",
    names=(
        Name(
            "trl",
            "tools/failure_frequency",
            trainer="grpo,async_grpo,distillation",
            note="TRL writes 0.0 if there was no call; we write nothing",
        ),
        Name(
            "telescope",
            "tool_success_rate",
            same=False,
            note="share of successful calls per sample (0 without calls), averaged over samples",
        ),
    ),
)
def failure_share(tool_failures_S: Any, tool_calls_S: Any) -> Ratio:
    """Share of tool calls that failed.

    Definition: summed tool_failures over summed tool_calls of all samples. Without a call there is
    no data; the value is not 0.

    Read: A failing tool looks like a policy that cannot learn. A slow fall is the policy learning
    the format; a jump is the tool.

    Check: tool/by_name/{tool}/failure_share; tool/unknown, calls of tools that do not exist;
    sample_time/tool: do calls time out?
    """
    return _ratio(tool_failures_S, tool_calls_S)


@metric(
    "tool/used_share",
    unit="share",
    good="context",
    range=(0, 1),
    scoped=True,
    example="samples with 0, 1 and 2 calls: 0.667",
)
def used_share(tool_calls_S: Any) -> Ratio:
    """Share of samples that called a tool at all.

    Definition: samples with at least one tool call, over samples where the number of calls is
    known.

    Read: Separates many calls by a few samples from a few calls by many samples.

    Check: tool/calls/mean; reward of samples with calls and without.
    """
    counts = floats(tool_calls_S)
    return share(counts > 0, ~np.isnan(counts))


@metric(
    "tool/calls_per_turn",
    unit="calls/turn",
    good="context",
    range=(0, None),
    example="6 calls in 12 turns: 0.5",
    names=(Name("rlinf", "agent/mean/tool_calls_per_turn"),),
)
def calls_per_turn(tool_calls_S: Any, turns_S: Any) -> Ratio:
    """Tool calls per policy generation.

    Definition: summed tool_calls over summed turns of all samples.

    Read: 1 is an agent that calls a tool in every turn. Above 1, it calls several at once.

    Check: tool/calls/mean; turns/mean.
    """
    return _ratio(tool_calls_S, turns_S)


@metric(
    "tool/calls_total",
    unit="calls",
    good="context",
    range=(0, None),
    example="samples with 0, 1 and 2 calls: 3",
    names=(Name("rlinf", "agent/sum/total_tool_calls"),),
)
def calls_total(tool_calls_S: Any) -> Sum:
    """Tool calls in the step.

    Definition: sum of tool_calls over all samples.

    Read: The load on the tools.

    Check: tool/calls/mean; samples/generated.
    """
    return Sum.of(of_sequences(tool_calls_S))


@metric(
    "tool/seconds_per_call",
    unit="s/call",
    good="down",
    range=(0, None),
    example="12 s in 6 calls: 2",
    names=(Name("trl", "tools/latency_s", trainer="async_grpo"),),
)
def seconds_per_call(tool_seconds_S: Any, tool_calls_S: Any) -> Ratio:
    """Time of a tool call.

    Definition: summed tool_seconds over summed tool_calls of all samples. Without a call there is
    no data.

    Read: Slower tools make every episode longer and its samples more stale.

    Check: tool/by_name/{tool}/seconds_per_call; sample_time/tool/max; the tool's own load.
    """
    return _ratio(tool_seconds_S, tool_calls_S)


@metric(
    "tool/unknown",
    unit="calls",
    good="down",
    range=(0, None),
    healthy=(0, 0),
    example="two calls of tools that do not exist: 2",
    names=(Name("trl", "tools/unknown_name_total", trainer="async_grpo"),),
)
def unknown(tool_unknown_S: Any) -> Sum:
    """Calls of tools that do not exist.

    Definition: sum of tool_unknown over all samples.

    Read: The policy invents tool names. It should fall quickly as the policy learns the format.

    Check: the tool list in the prompt; tool/failure_share.
    """
    return Sum.of(of_sequences(tool_unknown_S))


def _ratio(top: Any, bottom: Any) -> Ratio:
    """Quotient of the sums over the samples that have both values."""
    both = known(top, bottom)
    return Ratio(float(floats(top)[both].sum()), float(floats(bottom)[both].sum()))


def _each(tools: Any, top: str, bottom: str) -> dict[str, Ratio]:
    return {name: _ratio(t[top], t[bottom]) for name, t in tools.items() if top in t and bottom in t}


@metric(
    "tool/by_name/{tool}/calls",
    unit="calls",
    good="context",
    range=(0, None),
    example="tools={'search': {'calls': [1, 2]}}: 3",
    names=(
        Name("trl", "tools/{tool}/call_total", trainer="async_grpo"),
        Name(
            "telescope",
            "{tool}_calls",
            same=False,
            note="one number per sample; as a series it is reward_{tool}_calls_mean, our sample_metric/{tool}_calls",
        ),
    ),
)
def tool_calls(tools_S: Any) -> dict[str, Sum]:
    """Calls of one tool in the step.

    Definition: sum over samples of the calls of each tool.

    Read: Shows which tool the policy prefers, and whether one is never used.

    Check: tool/by_name/{tool}/failure_share; tool/calls/mean.
    """
    return {name: Sum.of(of_sequences(t["calls"])) for name, t in tools_S.items() if "calls" in t}


@metric(
    "tool/by_name/{tool}/failures",
    unit="calls",
    good="down",
    range=(0, None),
    example="tools={'search': {'failures': [0, 2]}}: 2",
    names=(Name("trl", "tools/{tool}/failure_total", trainer="async_grpo"),),
)
def tool_failures(tools_S: Any) -> dict[str, Sum]:
    """Failed calls of one tool in the step.

    Definition: sum over samples of the failed calls of each tool.

    Read: Compare with tool/by_name/{tool}/calls.

    Check: tool/by_name/{tool}/failure_share; the results of its failed calls.
    """
    return {name: Sum.of(of_sequences(t["failures"])) for name, t in tools_S.items() if "failures" in t}


@metric(
    "tool/by_name/{tool}/failure_share",
    unit="share",
    good="down",
    range=(0, 1),
    example="3 calls of which 2 failed: 0.667",
    names=(
        Name(
            "telescope",
            "{tool}_error_rate",
            same=False,
            note="a share per sample, averaged over samples; only some environments write it",
        ),
    ),
)
def tool_failure_share(tools_S: Any) -> dict[str, Ratio]:
    """Share of one tool's calls that failed.

    Definition: summed failures over summed calls of each tool. Without a call there is no data.

    Read: Shows which tool is broken or misunderstood.

    Check: the results of its failed calls; its timeout.
    """
    return _each(tools_S, "failures", "calls")


@metric(
    "tool/by_name/{tool}/seconds_per_call",
    unit="s/call",
    good="down",
    range=(0, None),
    example="3 calls in 6 s: 2",
    names=(Name("trl", "tools/{tool}/latency_s", trainer="async_grpo"),),
)
def tool_seconds_per_call(tools_S: Any) -> dict[str, Ratio]:
    """Time of one tool's call.

    Definition: summed seconds over summed calls of each tool. Without a call there is no data.

    Read: The slowest tool decides how long episodes take.

    Check: sample_time/tool/max; the tool's own load.
    """
    return _each(tools_S, "seconds", "calls")


@metric(
    "tool/kinds_used",
    unit="tools",
    good="context",
    range=(0, None),
    example="of search and code only search was called by a sample: 1",
    names=(
        Name(
            "telescope",
            "unique_tools_used",
            stat="mean",
            same=False,
            note=(
                "one number per sample; as a series it is reward_unique_tools_used_mean, our "
                "sample_metric/unique_tools_used"
            ),
        ),
    ),
)
def kinds_used(tools_S: Any) -> Distribution | None:
    """Number of different tools that a sample called.

    Definition: number of tools with at least one call, per sample, pooled over samples.

    Read: 0 is a sample without tools. More than 1 is a plan that combines tools.

    Check: tool/by_name/{tool}/calls.
    """
    counts = [floats(t["calls"]) for t in tools_S.values() if "calls" in t]
    return Distribution((np.stack(counts) > 0).sum(0)[known(*counts)]) if counts else None


reported(
    "tool/parallel_calls",
    meaning="Mean number of tool calls in one turn, over turns with a call.",
    definition=("calls of a turn, averaged over turns with at least one call, as the rollout worker counted them."),
    read="Above 1, the policy calls several tools at once.",
    check="tool/calls_per_turn; turns/mean",
    unit="calls",
    good="context",
    example="turns with 1 and 3 calls: 2",
    range=(1, None),
    names=(Name("trl", "tools/parallel_calls_mean", trainer="async_grpo"),),
)
