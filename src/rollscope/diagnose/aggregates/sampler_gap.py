"""How far the engine that sampled is from the trainer, on the very same tokens."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .chunk import Chunk
from .registry import Numbers, aggregate

MOST = 20.0  # nats between two log-probabilities of a token; more says no more, and overflows


@aggregate("sampler_k3", "rollout_logp", "old_logp", text=True)
def sampler_k3(samples: Chunk) -> Numbers:
    """KL of the sampler to the trainer in nats per token: the mean of exp(d) - 1 - d by step."""
    sampler, trainer = (samples.rows[name] for name in ("rollout_logp", "old_logp"))
    lengths = pc.list_value_length(sampler)
    both = pc.fill_null(pc.equal(lengths, pc.list_value_length(trainer)), False)
    counts = np.asarray(pc.if_else(both, pc.fill_null(lengths, 0), 0), np.int64)
    gap = np.clip(_flat(trainer, both) - _flat(sampler, both), -MOST, MOST)
    rows = np.repeat(np.arange(len(samples)), counts)
    known = np.isfinite(gap)
    total = np.bincount(rows[known], (np.expm1(gap) - gap)[known], len(samples))
    tokens = np.bincount(rows[known], minlength=len(samples)).astype(np.float64)
    total, tokens = (np.add.reduceat(values, samples.starts) for values in (total, tokens))
    return np.asarray(np.divide(total, tokens, out=np.full(len(tokens), np.nan), where=tokens > 0))


def _flat(column: pa.ChunkedArray, keep: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.list_flatten(column.filter(keep)).combine_chunks(), np.float64)
