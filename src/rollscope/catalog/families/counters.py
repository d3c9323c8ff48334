"""Counts: samples and tokens of a step, and totals since the run began.

A counter holds the count before the step and the increase in this step. So parts of a step can be
merged, and a resumed run continues. The recorder provides `tokens_before`, `samples_before` and
`episodes_before`; without them a counter begins at 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Counter, Sum
from rollscope.catalog.reported import reported, rlinf
from rollscope.catalog.sequence import floats
from rollscope.catalog.spec import Name, derived, metric

key("tokens_before", "step", "tokens counted before this step")
key("samples_before", "step", "samples counted before this step")
key("episodes_before", "step", "episodes counted before this step")


@derived
def sample_count(
    completion_tokens_S: Any = None,
    reward_S: Any = None,
    group_S: Any = None,
    prompt_tokens_S: Any = None,
    trained_S: Any = None,
) -> Any:
    """Number of samples, from the first per-sample key that is given; None without one."""
    given = (completion_tokens_S, reward_S, group_S, prompt_tokens_S, trained_S)
    return next((len(x) for x in given if x is not None), None)


@metric(
    "counter/tokens",
    unit="tokens",
    good="context",
    range=(0, None),
    example="10,000 tokens before, a prompt of 12 and a completion of 30 tokens now: 10,042",
    names=(
        Name("trl", "num_tokens", note="prompts and completions together; an evaluation logs the training value"),
        Name(
            "trl",
            "num_input_tokens_seen",
            same=False,
            note="Hugging Face's own counter of tokens fed to the model, logged only on request",
        ),
    ),
)
def tokens(prompt_tokens_S: Any, completion_tokens_S: Any, tokens_before: Any = 0.0) -> Counter:
    """Tokens seen so far.

    Definition: prompt_tokens + completion_tokens of every sample of this step, added to the earlier
    count; tool and environment text is not included. Survives a resume.

    Read: The fairest x axis for comparing runs with different batch sizes and lengths.

    Check: whether the counter continues after a resume; perf/tokens, the step's own count.
    """
    return Counter(
        float(tokens_before), float(np.nansum(floats(prompt_tokens_S)) + np.nansum(floats(completion_tokens_S)))
    )


@metric("counter/samples", unit="samples", good="context", range=(0, None), example="64 samples before, 8 now: 72")
def samples(sample_count: Any, samples_before: Any = 0.0) -> Counter | None:
    """Samples seen so far.

    Definition: number of samples of this step, discarded ones included, added to the earlier count.
    Survives a resume.

    Read: An x axis that does not depend on how samples are packed into steps.

    Check: samples/generated, the step's own count.
    """
    return None if sample_count is None else Counter(float(samples_before), float(sample_count))


@metric(
    "counter/episodes",
    unit="episodes",
    good="context",
    range=(0, None),
    example="64 episodes before, 8 now: 72",
    names=(Name("trl", "episode", trainer="ppo"),),
)
def episodes(completion_tokens_S: Any, episodes_before: Any = 0.0) -> Counter:
    """Episodes seen so far.

    Definition: samples of this step with at least one sampled token, added to the earlier count. An
    aborted sample is not an episode. Survives a resume.

    Read: The x axis of classic RL plots.

    Check: length/aborted; counter/samples.
    """
    return Counter(float(episodes_before), float(np.count_nonzero(floats(completion_tokens_S) > 0)))


@metric(
    "samples/generated",
    unit="samples",
    good="context",
    range=(0, None),
    example="8 samples in the batch: 8",
    names=(
        Name("openrlhf", "rollout/num_samples"),
        Name("rlinf", "rollout/total_num_sequence"),
        Name("rlinf", "agent/count/n_rollouts"),
    ),
)
def generated(sample_count: Any) -> Sum | None:
    """Samples in the step, trained on or not.

    Definition: number of samples of all parts of the step.

    Read: Should be prompts times generations. A lower number means that samples were lost.

    Check: group/count and group/size/mean; discarded/count.
    """
    return None if sample_count is None else Sum(float(sample_count), float(sample_count))


@metric(
    "samples/trained",
    unit="samples",
    good="up",
    range=(0, None),
    example="8 samples, 6 of them trained on: 6",
    names=(Name("trl", "batch/samples_per_step", trainer="async_grpo"),),
)
def trained(fate_S: Any) -> Sum | None:
    """Samples that the update used.

    Definition: number of samples in the loss. Written only when the batch says which samples were
    trained on.

    Read: The real batch size. It shrinks when groups without spread are dropped and not replaced.

    Check: discarded/share; group/zero_spread.
    """
    return None if fate_S is None else Sum(float(fate_S[0].sum()), float((fate_S[0] | fate_S[1]).sum()))


@metric(
    "samples/with_reward",
    unit="samples",
    good="up",
    range=(0, None),
    example="rewards 1, nan, 0: 2",
    names=(Name("rlinf", "agent/count/n_rollouts_w_reward"),),
)
def with_reward(reward_S: Any) -> Sum:
    """Samples that have a reward.

    Definition: number of samples whose reward is not NaN.

    Read: If it is below samples/generated, some samples were not scored.

    Check: reward/missing.
    """
    there = ~np.isnan(floats(reward_S))
    return Sum(float(there.sum()), float(there.size))


reported(
    "samples/with_trace",
    meaning="Agent rollouts that left a trace.",
    definition="rollouts with at least one recorded model call, as the rollout worker counted them.",
    read=(
        "If it is below the number of rollouts, the agent crashed before its first call or its calls were not recorded."
    ),
    check="samples/generated; stop/error; the agent's own log",
    unit="samples",
    good="up",
    example="8 rollouts, one of which left nothing: 7",
    kind="sum",
    range=(0, None),
    names=(rlinf("agent/count/n_rollouts_w_trace"),),
)
