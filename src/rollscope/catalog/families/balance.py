"""Balance between data-parallel ranks: token sums per rank, before and after balancing."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.rate import Evenness, Gap, Heaviest, Imbalance, Lightest, Loads
from rollscope.catalog.partition import chunks
from rollscope.catalog.partition import partition as deal
from rollscope.catalog.reported import trinity, trl, verl
from rollscope.catalog.spec import Alarm, derived, metric
from rollscope.errors import BadBatch


@derived
def sequence_tokens_S(prompt_tokens_S: Any, response_tokens_S: Any) -> Any:
    """Tokens of a sample that a forward pass sees: prompt and everything after it."""
    return prompt_tokens_S + response_tokens_S


@derived
def dp_size(partition: Any) -> float:
    return float(len(partition))


@derived
def loads_before(sequence_tokens_S: Any, dp_size: Any) -> tuple[float, ...]:
    return tuple(chunks(sequence_tokens_S, int(dp_size))) if dp_size >= 1 and len(sequence_tokens_S) else ()


@derived
def loads_after(sequence_tokens_S: Any, dp_size: Any, partition: Any = None) -> tuple[float, ...]:
    tokens = np.asarray(sequence_tokens_S)
    if dp_size < 1 or not len(tokens):
        return ()
    dealt = deal(tokens.tolist(), int(dp_size)) if partition is None else partition
    parts = [np.asarray(part, np.int64).ravel() for part in dealt]
    _require_every_sample_once(parts, len(tokens))
    return tuple(float(tokens[part].sum()) for part in parts)


def _require_every_sample_once(parts: list[Any], samples: int) -> None:
    numbers = np.sort(np.concatenate(parts))
    if not np.array_equal(numbers, np.arange(samples)):
        raise BadBatch(
            f"batch['partition'] holds {len(numbers)} sample numbers for {samples} samples; "
            "every sample must be in exactly one part, numbered from 0."
        )


@metric(
    "balance/before/min",
    unit="tokens",
    good="up",
    range=(0.0, None),
    example="loads 38, 48, 48, 56: 38",
    names=[verl("global_seqlen/min"), trinity("global_seqlen/min")],
)
def before_min(loads_before: Any) -> Lightest:
    """Tokens of the lightest rank if the batch were not balanced.

    Definition: smallest token sum when the batch is cut, in its own order, into dp_size contiguous
    parts whose sizes differ by one sample at most. Prompt and response tokens both count.

    Read: Compare with balance/mean. It describes the data, not what the ranks really received;
    balance/after/min does that.

    Check: balance/after/min; long-tailed response lengths.
    """
    return Lightest(loads_before)


@metric(
    "balance/before/max",
    unit="tokens",
    good="down",
    range=(0.0, None),
    example="loads 38, 48, 48, 56: 56",
    names=[verl("global_seqlen/max"), trinity("global_seqlen/max")],
)
def before_max(loads_before: Any) -> Heaviest:
    """Tokens of the heaviest rank if the batch were not balanced.

    Definition: the largest token sum among the dp_size contiguous parts of the batch in its own
    order.

    Read: Where micro-batches are packed by tokens, the heaviest part runs out of memory first.

    Check: length/response/max and length/prompt/max; token budget of a micro-batch.
    """
    return Heaviest(loads_before)


@metric(
    "balance/before/spread",
    unit="tokens",
    good="down",
    range=(0.0, None),
    example="56 - 38: 18",
    names=[
        verl(
            "global_seqlen/minmax_diff",
            note=(
                "measured before balancing, although the published glossary explains it as the imbalance "
                "left afterwards; when veRL merges several steps, it subtracts the merged minimum from "
                "the merged maximum"
            ),
        ),
        trinity("global_seqlen/minmax_diff"),
    ],
)
def before_spread(loads_before: Any) -> Gap:
    """How uneven the batch is in its own order.

    Definition: heaviest minus lightest of the dp_size contiguous parts, in tokens, before any
    balancing.

    Read: Shows how much work balancing has to do. A large value does not mean that ranks wait; for
    that, read balance/after/spread.

    Check: balance/after/spread; spread of response lengths.
    """
    return Gap(loads_before)


@metric(
    "balance/after/min",
    unit="tokens",
    good="up",
    range=(0.0, None),
    example="45",
    names=[verl("global_seqlen/balanced_min"), trinity("global_seqlen/balanced_min")],
)
def after_min(loads_after: Any) -> Lightest:
    """Tokens of the rank with the least work.

    Definition: smallest token sum over the parts of the trainer's own `partition`. If it is not
    given, over the parts that our partitioner makes for dp_size ranks.

    Read: Near balance/mean when balancing works.

    Check: balance/after/max; number of samples per rank; one very long sample, which cannot be
    split.
    """
    return Lightest(loads_after)


@metric(
    "balance/after/max",
    unit="tokens",
    good="down",
    range=(0.0, None),
    example="49",
    names=[verl("global_seqlen/balanced_max"), trinity("global_seqlen/balanced_max")],
)
def after_max(loads_after: Any) -> Heaviest:
    """Tokens of the rank with the most work, which all other ranks wait for.

    Definition: largest token sum over the parts of `partition`, or of our partitioner's parts for
    dp_size ranks.

    Read: The step is as slow as this rank. If only one rank runs out of memory, look here too.

    Check: length/response/max; sequence parallelism for very long samples; token budget of a
    micro-batch.
    """
    return Heaviest(loads_after)


@metric("balance/after/spread", unit="tokens", good="down", range=(0.0, None), example="49 - 45: 4")
def after_spread(loads_after: Any) -> Gap:
    """Difference between the heaviest and the lightest rank that balancing could not remove.

    Definition: difference of the largest and the smallest token sum over the parts of `partition`,
    or of our partitioner's parts.

    Read: Should be small compared with balance/mean. In every step, fast ranks wait for the time
    that this many tokens take.

    Check: whether balancing is switched on; number of samples per rank (a few samples cannot be
    balanced); whether the work grows with tokens or with tokens squared at these lengths.
    """
    return Gap(loads_after)


@metric(
    "balance/after/imbalance",
    unit="ratio",
    good="down",
    range=(0.0, None),
    example="49 against a mean of 47.5: 0.0316",
    names=[
        trl(
            "batch/row_imbalance",
            trainer="async_grpo",
            same=False,
            note="imbalance of packed rows within a micro-batch, not of ranks",
        )
    ],
)
def imbalance(loads_after: Any) -> Imbalance:
    """Extra work of the heaviest rank compared with the average rank.

    Definition: max / mean - 1 of the ranks' token sums after balancing.

    Read: 0 is perfect. 0.25 means that the average rank waits a fifth of the time. Unlike the
    spread, it can be compared between runs.

    Check: balance/after/spread; batch size per rank; longest sample compared with the mean load.
    """
    return Imbalance(loads_after)


@metric(
    "balance/after/evenness",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="45 against 49: 0.918",
    alarms=[
        Alarm(
            "below",
            0.25,
            "watch",
            "miles advisory.py: data-parallel imbalance",
            "the least busy rank has less than a quarter of the busiest rank's work",
        )
    ],
)
def evenness(loads_after: Any) -> Evenness:
    """Work of the least busy rank as a share of the busiest rank's work.

    Definition: min / max of the ranks' token sums after balancing.

    Read: 1 is perfect. Below one quarter, a rank does next to nothing.

    Check: balance/after/spread; fewer samples than ranks; one very long sample.
    """
    return Evenness(loads_after)


@metric(
    "balance/mean",
    unit="tokens",
    good="context",
    range=(0.0, None),
    example="190 tokens on 4 ranks: 47.5",
    names=[verl("global_seqlen/mean"), trinity("global_seqlen/mean")],
)
def mean(loads_before: Any) -> Loads:
    """Average number of tokens per rank.

    Definition: all prompt and response tokens of the batch, divided by the number of ranks.

    Read: The size of a step. It follows response length.

    Check: length/response/mean; batch size.
    """
    return Loads(loads_before)
