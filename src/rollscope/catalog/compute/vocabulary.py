"""Quantities that read the whole vocabulary at each token, from logits.

The logits of a long sample do not fit a cache, and a float32 copy of them does not fit memory. A
mask therefore gives `Picked` rows, which are read in chunks. A kernel in `kernels/` that computes
the same in one pass on a device registers itself in `FASTER` and is preferred where it can run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.catalog.partials import ops

CHUNK = 1 << 20  # logits in a chunk on the host
DEVICE_CHUNK = 1 << 28

FASTER: dict[str, Callable[..., Any]] = {}  # name of a function below -> its kernel on a device


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """Rows of a [N, V] array that a mask selects, without copying them."""

    flat: Any
    index: Any  # None for all rows

    def __len__(self) -> int:
        return len(self.flat) if self.index is None else len(self.index)

    def chunks(self) -> Iterator[Any]:
        """Float rows, as many at a time as fit the cache or the device."""
        on_device = ops.is_torch(self.flat)
        rows = max(1, (DEVICE_CHUNK if on_device else CHUNK) // max(1, self.flat.shape[1]))
        for start in range(0, len(self), rows):
            part = slice(start, start + rows)
            chunk = self.flat[part] if self.index is None else self.flat[self.index[part]]
            yield chunk.float() if on_device else chunk.astype(np.float64)


def entropy_of_logits(logits: Picked, temperature: float = 1.0) -> Any:
    """H = log Σ e^z - Σ softmax(z) z with z = logits / temperature, in nats, one per token."""
    if "entropy_of_logits" in FASTER and ops.is_torch(logits.flat) and logits.flat.is_cuda:
        rows = logits.flat if logits.index is None else logits.flat[logits.index]
        return FASTER["entropy_of_logits"](rows, temperature)
    return _joined([_entropy(z / temperature) for z in logits.chunks()], logits)


def kl_of_logits(logits: Picked, other: Picked, temperature: float = 1.0) -> Any:
    """Σ_v p (log p - log q), one per token."""
    pairs = zip(logits.chunks(), other.chunks(), strict=True)
    return _joined([_kl(_log_softmax(z / temperature), _log_softmax(y / temperature)) for z, y in pairs], logits)


def _log_softmax(z: Any) -> Any:
    if ops.is_torch(z):
        return z.log_softmax(-1)
    z = z - z.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def _entropy(z: Any) -> Any:
    logp = _log_softmax(z)
    p = ops.exp(logp)
    with np.errstate(invalid="ignore"):
        return -(ops.where(p > 0, p * logp, p * 0)).sum(-1)  # a logit of -inf adds no entropy


def _kl(logp: Any, logq: Any) -> Any:
    p = ops.exp(logp)
    with np.errstate(invalid="ignore"):
        return ops.where(p > 0, p * (logp - logq), p * 0).sum(-1)


def _joined(parts: list[Any], logits: Picked) -> Any:
    if parts:
        return sys.modules["torch"].cat(parts) if ops.is_torch(parts[0]) else np.concatenate(parts)
    return logits.flat[:0].sum(-1)
