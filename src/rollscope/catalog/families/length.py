"""Lengths of prompts and answers. Only here do aborted samples count, with length 0.

`completion` counts the tokens that the policy sampled; `response` counts everything after the
prompt, tool and environment text included. Limits and truncation are in length_limit.py.
"""

from __future__ import annotations

from typing import Any

from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.moments import Variance
from rollscope.catalog.sequence import floats
from rollscope.catalog.spec import Name, metric

_P90 = "RLinf logs the 90th percentile; we keep p50 and p95"
_TOP = "RLinf logs the mean of the longest tenth, which cannot be merged from parts; see max and p95"
_WINDOW = "the extreme of one generation batch; over a window of several batches TRL logs the mean of their extremes"


@metric(
    "length/prompt",
    unit="tokens",
    good="context",
    range=(0, None),
    scoped=True,
    example="prompts of 12 and 20 tokens: mean 16",
    names=(
        Name("verl", "prompt_length/{mean,max,min}"),
        Name("trinity", "prompt_length/{mean,max,min}"),
        Name("rlinf", "rollout/prompt_length", stat="mean"),
        Name("rlinf", "rollout/max_prompt_length", stat="max"),
        Name("rlinf", "agent/p90/prompt_length", stat="p95", same=False, note=_P90),
        Name("rlinf", "agent/mean_top10p/prompt_length", stat="max", same=False, note=_TOP),
        Name(
            "telescope",
            "length_prompt_{mean,std,min,max}",
            same=False,
            note="Telescope counts one row per group, and only the raw user text: no chat template, no system prompt",
        ),
        Name(
            "telescope",
            "discarded_length_prompt_{mean,std,min,max}",
            scope="discarded",
            same=False,
            note="Telescope counts one row per group, and only the raw user text",
        ),
    ),
)
def prompt(prompt_tokens_S: Any) -> Distribution:
    """Length of the prompt.

    Definition: prompt_tokens of every sample, aborted ones included. A group of n members counts
    its prompt n times.

    Read: Moves with the data, not with the policy. A sudden change means another data mix, a new
    template, or history that accumulates over turns.

    Check: the data mix; length/prompt_at_limit: are prompts cut?; the chat template.
    """
    return Distribution(floats(prompt_tokens_S))


@metric(
    "length/completion",
    unit="tokens",
    good="context",
    range=(0, None),
    scoped=True,
    example="completions of 10, 20 and 0 (aborted) tokens: mean 10",
    names=(
        Name("trl", "completions/mean_length", trainer="grpo,rloo,distillation,ssd,sdpo,sdft,gkd,gold", stat="mean"),
        Name(
            "trl", "completions/{min,max}_length", trainer="grpo,rloo,distillation,ssd,sdpo,sdft,gkd,gold", note=_WINDOW
        ),
        Name("trl", "completions/mean_length", trainer="async_grpo", stat="mean"),
        Name(
            "trl",
            "response_length",
            stat="mean",
            same=False,
            note="the published glossary's name; TRL writes completions/mean_length",
        ),
        Name(
            "telescope",
            "length_completion_{mean,std,min,max}",
            note="summed over the turns of a sample; kept groups only",
        ),
        Name("telescope", "discarded_length_completion_{mean,std,min,max}", scope="discarded"),
    ),
)
def completion(completion_tokens_S: Any) -> Distribution:
    """Number of tokens that the policy wrote.

    Definition: tokens that the policy sampled, summed over all turns of a sample, for every sample;
    aborted samples count as 0. Tool and environment text is not included.

    Read: It drives cost and is often the first way to game a reward. Steady growth is common while
    a policy learns to reason; growth with a rising truncated share is not.

    Check: length/truncated; reward/length_correlation; group/length_max_median: do all answers
    grow, or a few?
    """
    return Distribution(floats(completion_tokens_S))


@metric(
    "length/response",
    unit="tokens",
    good="context",
    range=(0, None),
    scoped=True,
    example="an answer of 50 tokens with 200 tokens of tool output: 250",
    names=(
        Name("verl", "response_length/{mean,max,min}"),
        Name("trinity", "response_length/{mean,max,min}"),
        Name(
            "openrlhf",
            "response_length",
            stat="mean",
            note="from the first to the last sampled token, tool text between them included",
        ),
        Name("openrlhf", "rollout/response_length_mean", stat="mean", scope="generated"),
        Name("rlinf", "rollout/response_length", stat="mean"),
        Name("rlinf", "rollout/average_response_length", stat="mean"),
        Name("rlinf", "rollout/max_of_response_length", stat="max"),
        Name("rlinf", "rollout/min_of_response_length", stat="min"),
        Name("rlinf", "rollout/max_response_length", stat="max"),
        Name("rlinf", "agent/p90/response_length", stat="p95", same=False, note=_P90),
        Name("rlinf", "agent/mean_top10p/response_length", stat="max", same=False, note=_TOP),
    ),
)
def response(response_tokens_S: Any) -> Distribution:
    """Length of everything after the prompt.

    Definition: response_tokens of every sample: all tokens after the prompt except padding, tool
    and environment text included. Aborted samples count as 0.

    Read: The trainer must hold this much in memory. In single-turn tasks it equals the completion.

    Check: length/completion: does the policy grow, or the tool output?; tool/calls/mean;
    length/total/max compared with the model's context window.
    """
    return Distribution(floats(response_tokens_S))


@metric(
    "length/response_variance",
    unit="tokens squared",
    good="context",
    range=(0, None),
    scoped=True,
    example="responses of 10 and 20 tokens: 50",
    names=(Name("rlinf", "rollout/variance_of_response_length"),),
)
def response_variance(response_tokens_S: Any) -> Variance:
    """Variance of the response length.

    Definition: square of the standard deviation (ddof 1) of response_tokens over all samples, with
    0 for aborted ones.

    Read: The square of length/response/std, kept for dashboards that show the variance.

    Check: length/response/std; group/length_max_median.
    """
    return Variance.of(floats(response_tokens_S))


@metric(
    "length/total",
    unit="tokens",
    good="context",
    range=(0, None),
    scoped=True,
    example="a prompt of 12 and a response of 250 tokens: 262",
    names=(
        Name("openrlhf", "total_length", stat="mean"),
        Name("rlinf", "rollout/total_length", stat="mean"),
        Name("rlinf", "rollout/max_total_length", stat="max"),
        Name("rlinf", "agent/p90/total_length", stat="p95", same=False, note=_P90),
        Name("rlinf", "agent/mean_top10p/total_length", stat="max", same=False, note=_TOP),
        Name("telescope", "length_sum_{mean,std,min,max}"),
        Name("telescope", "discarded_length_sum_{mean,std,min,max}", scope="discarded"),
    ),
)
def total(prompt_tokens_S: Any, response_tokens_S: Any = None, completion_tokens_S: Any = None) -> Distribution | None:
    """Length of prompt and response together.

    Definition: prompt_tokens + response_tokens of every sample; prompt_tokens + completion_tokens
    if the response is not known.

    Read: Its maximum decides memory and packing. Compare it with the model's context window to see
    how close the limit is.

    Check: length/prompt/max; length/response/max; balance/before/max.
    """
    rest = response_tokens_S if response_tokens_S is not None else completion_tokens_S
    return None if rest is None else Distribution(floats(prompt_tokens_S) + floats(rest))


@metric(
    "length/response_non_aborted",
    unit="tokens",
    good="context",
    range=(1, None),
    scoped=True,
    example="responses of 10, 20 and 0 tokens: mean 15",
    names=(Name("verl", "response_length_non_aborted/{mean,max,min}"),),
)
def response_non_aborted(response_tokens_S: Any) -> Distribution:
    """Length of the responses that have at least one token.

    Definition: response_tokens of the samples where it is not 0.

    Read: Compare with length/response: this mean leaves the empty answers out.

    Check: length/aborted: how many empty answers are there?
    """
    tokens = floats(response_tokens_S)
    return Distribution(tokens[tokens > 0])


@metric(
    "length/terminated",
    unit="tokens",
    good="context",
    range=(1, None),
    scoped=True,
    example="lengths 18, 24 (cut), 24 (cut): mean 18",
    names=(
        Name(
            "trl",
            "completions/{mean,min,max}_terminated_length",
            trainer="grpo,rloo,distillation,ssd,sdpo,sdft",
            note="TRL writes 0.0 if no completion ended; we write nothing, because there is no data",
        ),
    ),
)
def terminated(completion_tokens_S: Any, ended_S: Any) -> Distribution | None:
    """Length of the completions that ended by themselves.

    Definition: completion_tokens of the samples that ended by themselves (see length/ended) and
    have at least one token. Without such a sample there is no data; the value is not 0.

    Read: The policy's natural length. If it is close to the limit, the limit is too low. If all
    lengths grow and this one does not, answers no longer reach their end.

    Check: length/ended; max_completion_tokens.
    """
    tokens = floats(completion_tokens_S)
    return None if ended_S is None else Distribution(tokens[(ended_S == 1) & (tokens > 0)])
