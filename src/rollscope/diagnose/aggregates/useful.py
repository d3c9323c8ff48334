"""Samples that taught nothing, by reason: each has one, and the reasons add up.

Only what truly bought nothing counts: a sample whose place in the loss is not known is useful, and
a truncated one has a wrong advantage, not none.
"""

from __future__ import annotations

import numpy as np

from .chunk import Chunk, Floats, Mask
from .failures import failed, zero
from .registry import Numbers, aggregate

REASONS = ("failed", "stale", "no_spread", "discarded")
STALE = ("max_async", "stale", "off_policy")
NO_SPREAD = ("zero_advantage", "zero_spread", "zero_std")


def tokens(samples: Chunk) -> Floats:
    """The tokens of each sample; 0 where they are not known."""
    known = samples.has("completion_tokens")
    return np.nan_to_num(samples.number("completion_tokens")) if known else np.zeros(len(samples))


def reasons(samples: Chunk) -> dict[str, Mask]:
    """Reason -> the samples that taught nothing because of it; the first reason counts."""
    return samples.keep("reasons", lambda: _reasons(samples))


def _reasons(samples: Chunk) -> dict[str, Mask]:
    given = {
        "failed": failed(samples) & zero(samples),
        "stale": _discarded(samples, STALE),
        "no_spread": _discarded(samples, NO_SPREAD) | _no_advantage(samples),
        "discarded": _discarded(samples, None),
    }
    left = np.ones(len(samples), bool)
    found: dict[str, Mask] = {}
    for name, mask in given.items():
        found[name] = mask & left
        left &= ~mask
    return found


def _discarded(samples: Chunk, why: tuple[str, ...] | None) -> Mask:
    """Samples that were discarded for one of these reasons, or for any."""
    if not samples.has("discard_reason"):
        return np.zeros(len(samples), bool)
    code, words = samples.words("discard_reason")
    return np.array([bool(word) and (why is None or word in why) for word in words] or [False])[code]


def _no_advantage(samples: Chunk) -> Mask:
    """Trained on with an advantage of exactly 0: it is in the batch and moves nothing."""
    return samples.number("advantage") == 0.0 if samples.has("advantage") else np.zeros(len(samples), bool)


def _sum(samples: Chunk, values: Floats) -> Numbers:
    return np.asarray(np.add.reduceat(values, samples.starts))


@aggregate("tokens", "id")
def all_tokens(samples: Chunk) -> Numbers:
    """All tokens that were generated."""
    return _sum(samples, tokens(samples))


@aggregate("samples", "id")
def all_samples(samples: Chunk) -> Numbers:
    """All samples that were generated."""
    return samples.counts.astype(np.float64)


def _register(reason: str) -> None:
    @aggregate(f"tokens/{reason}", "id")
    def of_tokens(samples: Chunk) -> Numbers:
        return _sum(samples, np.where(reasons(samples)[reason], tokens(samples), 0.0))

    @aggregate(f"samples/{reason}", "id")
    def of_samples(samples: Chunk) -> Numbers:
        return _sum(samples, reasons(samples)[reason].astype(np.float64))


for _reason in REASONS:
    _register(_reason)
