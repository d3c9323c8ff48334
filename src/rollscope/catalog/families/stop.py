"""Stop reasons: why generations end."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.sequence import by_name, share, words
from rollscope.catalog.spec import metric

# Always written: a share of 0 is visible, and a rank without such a sample still counts.
WORDS = ("stop", "length", "tool", "max_turns", "aborted", "error", "cancelled", "unsaid")


@metric(
    "stop/{reason}",
    unit="share",
    good="context",
    range=(0, 1),
    scoped=True,
    example=(
        "stop reasons stop, length, stop, error: stop/stop 0.5, stop/length 0.25, stop/error 0.25, and 0 "
        "for the other known words"
    ),
)
def stop(stop_reason_S: Any) -> dict[str, Ratio]:
    """Share of samples that ended for one reason.

    Definition: samples whose last generation ended with that word, over all samples. The known
    words (stop, length, tool, max_turns, aborted, error, cancelled) are always written. Any other
    word is written when it occurs, over the parts of the step in which it occurs. Samples without a
    reason are counted under `unsaid`.

    Read: `stop` should dominate in single-turn tasks. `length` is truncation, `max_turns` is an
    agent that does not finish, `error` and `aborted` are faults of the machine.

    Check: length/truncated, which counts any generation of a sample; turns/max; tool/failure_share.
    """
    flags = by_name([word or "unsaid" for word in words(stop_reason_S)])
    nothing = np.zeros(len(stop_reason_S), bool)
    return {reason: share(flags.get(reason, nothing)) for reason in dict.fromkeys((*WORDS, *flags))}
