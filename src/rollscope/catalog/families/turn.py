"""Turns of conversations, and the ways to count them."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.keys import key
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Ratio, Sum
from rollscope.catalog.sequence import floats, of_sequences, share, words
from rollscope.catalog.spec import Alarm, Name, metric

key("conversation_turns", "sample", "messages of all sides plus one, as veRL counts turns: 2 for a single answer")

_VERL = (
    "counts the messages of both sides plus one, so 2 for a single-turn sample; ours counts policy generations. "
    "See turns/conversation"
)


@metric(
    "turns",
    unit="turns",
    good="context",
    range=(0, None),
    scoped=True,
    example="samples with 1, 3 and 2 generations: mean 2",
    names=(
        Name("verl", "num_turns/{min,max,mean}", same=False, note=_VERL),
        Name("verl", "training/num_turns/{min,max,mean}", versions=">=0.9", same=False, note=_VERL),
        Name("rlinf", "rollout/avg_turns_per_traj", stat="mean"),
        Name("rlinf", "agent/mean/turn_count_per_rollout", stat="mean"),
        Name("trl", "rollout/turns_mean", trainer="async_grpo", stat="mean"),
    ),
)
def turns(turns_S: Any, written_tokens_S: Any = None) -> Distribution:
    """Number of turns of a sample: how often the policy generated.

    Definition: policy generations per sample, pooled over samples; aborted samples are not counted.

    Read: For agents, this is the length of an episode. A maximum that suddenly grows means loops,
    or a tool that fails and is retried.

    Check: tool/failure_share; turns/exhausted; stop/max_turns.
    """
    return Distribution(of_sequences(turns_S, written_tokens_S))


@metric(
    "turns/conversation",
    unit="messages",
    good="context",
    range=(0, None),
    scoped=True,
    example="a question and an answer: 2",
    names=(
        Name("verl", "num_turns/{min,max,mean}", note="from conversation_turns; our `turns` counts policy generations"),
        Name(
            "verl",
            "training/num_turns/{min,max,mean}",
            versions=">=0.9",
            note="from conversation_turns; our `turns` counts policy generations",
        ),
    ),
)
def conversation(conversation_turns_S: Any) -> Distribution:
    """Number of messages in a conversation, as veRL counts turns.

    Definition: number of messages of the user, the tools and the policy plus one, per sample,
    pooled over all samples; 2 for a single-turn sample.

    Read: Use it only to compare with veRL's dashboards; `turns` counts the policy's generations.

    Check: turns/mean; tool/calls/mean.
    """
    return Distribution(floats(conversation_turns_S))


@metric(
    "turns/total",
    unit="turns",
    good="context",
    range=(0, None),
    example="samples with 1, 3 and 2 generations: 6",
    names=(Name("rlinf", "agent/sum/turn_count"),),
)
def turns_total(turns_S: Any) -> Sum:
    """Policy generations in the step.

    Definition: sum of turns over all samples.

    Read: The number of requests that the engine had to answer.

    Check: turns/mean; samples/generated.
    """
    return Sum.of(of_sequences(turns_S))


@metric(
    "turns/exhausted",
    unit="share",
    good="down",
    range=(0, 1),
    scoped=True,
    example="stop reasons stop, max_turns: 0.5",
    names=(Name("trl", "tools/loop_exhausted_frac", trainer="async_grpo"),),
    alarms=(
        Alarm(
            "above",
            0.25,
            "watch",
            "miles advisory.py:32, its limit for cut rollouts",
            "a quarter of the episodes run out of turns",
        ),
    ),
)
def exhausted(stop_reason_S: Any) -> Ratio:
    """Share of samples that ran out of turns.

    Definition: samples whose last stop reason is max_turns, over all samples.

    Read: Such episodes are scored on unfinished work. If it rises together with tool failures, a
    tool is the cause. If it rises alone, the policy does not finish.

    Check: tool/failure_share; the limit on turns; turns/max.
    """
    return share([word == "max_turns" for word in words(stop_reason_S)])
