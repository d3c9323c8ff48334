"""A block: consecutive samples whose tokens fit a cache.

A mask is applied once, and an array is fetched on first use. Values outside a mask are never read,
so NaN in padding is harmless. Batches of up to `SMALL` positions are computed in float64; larger
ones in their own float32, with sums across blocks in float64.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rollscope.catalog.keys import KEYS
from rollscope.catalog.partials import ops

from .batch import Batch
from .inputs import TOKEN_AXES, parse
from .layout import PerSample
from .vocabulary import Picked

# Positions of a block on the host, 384 kB an array. Smaller blocks cost more calls, larger ones
# leave the cache; this size measured best.
POSITIONS = 3 << 15
RUNS = 64  # a mask with fewer stretches per block than this is copied stretch by stretch
HEAP = 1 << 22
DEVICE_POSITIONS = 1 << 21
SMALL = 1 << 18


def warm_heap() -> None:
    """Allocate and free more than any block needs.

    glibc then holds on to that memory, where it would map and unmap each temporary array.
    """
    np.empty(HEAP, np.uint8)


def spans(batch: Batch) -> Iterator[tuple[int, int]]:
    """The range of samples in each block. A sample longer than the limit is a block of its own."""
    limit = POSITIONS if batch.device is None else DEVICE_POSITIONS
    widths = batch.widths if batch.widths is not None else np.empty(0, np.int64)
    start, filled = 0, 0
    for i, width in enumerate(widths.tolist()):
        if filled and filled + width > limit:
            yield start, i
            start, filled = i, 0
        filled += width
    yield start, len(widths)


def axes_of(batch: Batch) -> dict[str, tuple[str, ...]]:
    """The masks to intersect for each axis. No mask means all positions."""
    given = [name for name in ("action_mask", "mask", "valid_mask") if name in batch.tokens]
    action = ("action_mask",) if "action_mask" in given else ("mask",) if "mask" in given else tuple(given)
    loss = ("mask", *action) if "mask" in given and action != ("mask",) else action
    return {"A": action, "M": loss, "V": ("valid_mask",) if "valid_mask" in given else ()}


class Block:
    """The values of some samples, by parameter name."""

    def __init__(self, batch: Batch, start: int, stop: int, exact: bool) -> None:
        self.batch, self.start, self.stop, self.exact = batch, start, stop, exact
        self.masks = axes_of(batch)
        self.selected: dict[tuple[str, ...], tuple[Any, ops.Rows]] = {}

    def __getitem__(self, parameter: str) -> Any:
        stem, axis = parse(parameter)
        if axis in TOKEN_AXES:
            masks = self.masks[axis]
            return self.rows(masks) if stem == "rows" else self.tokens(stem, masks)
        if axis == "S":
            return _sliced(self.sample(stem), self.start, self.stop)
        return self.batch.steps[stem]

    def sample(self, stem: str) -> Any:
        if stem in self.batch.samples:
            return self.batch.samples[stem]
        tokens = self.batch.tokens[stem]
        assert isinstance(tokens, PerSample)
        return tokens.values

    def rows(self, masks: tuple[str, ...]) -> ops.Rows:
        return self.select(masks)[1]

    def tokens(self, stem: str, masks: tuple[str, ...]) -> Any:
        index, rows = self.select(masks)
        source = self.batch.tokens[stem]
        flat = source.take(self.start, self.stop)
        if isinstance(source, PerSample):
            return self.cast(ops.spread(flat, rows))
        if KEYS[stem].level == "logits":
            return Picked(flat, _positions(index))
        return self.cast(_picked(flat, index))

    def cast(self, x: Any) -> Any:
        if ops.is_torch(x):
            torch = sys.modules["torch"]
            return x if x.dtype == torch.bool else x.double() if self.exact else x.float()
        if x.dtype == bool or x.dtype == (np.float64 if self.exact else np.float32):
            return x
        return x.astype(np.float64 if self.exact or x.dtype.itemsize > 4 else np.float32)

    def select(self, masks: tuple[str, ...]) -> tuple[Any, ops.Rows]:
        """The positions that masks select (None: all of them), and how many each sample has."""
        if masks not in self.selected:
            assert self.batch.widths is not None
            widths = self.batch.widths[self.start : self.stop]
            chosen = None
            for name in masks:
                flat = self.batch.tokens[name].take(self.start, self.stop)
                mask = flat if str(flat.dtype).endswith("bool") else flat != 0
                chosen = mask if chosen is None else chosen & mask
            self.selected[masks] = _all(widths, self.batch.device) if chosen is None else _chosen(chosen, widths)
        return self.selected[masks]


def _all(widths: np.ndarray[Any, Any], device: Any) -> tuple[None, ops.Rows]:
    counts = widths if device is None else sys.modules["torch"].as_tensor(widths, device=device)
    return None, ops.Rows(counts, int(widths.sum()))


def _chosen(chosen: Any, widths: np.ndarray[Any, Any]) -> tuple[Any, ops.Rows]:
    if ops.is_torch(chosen):
        index = chosen.nonzero().reshape(-1)
        widths = sys.modules["torch"].as_tensor(widths, device=chosen.device)
        counts = ops.row_sum(chosen, ops.Rows(widths, len(chosen))).long()
        return index, ops.Rows(counts, len(index))
    counts = _counts(chosen, widths)
    n = int(counts.sum())
    return None if n == len(chosen) else _stretches(chosen), ops.Rows(counts, n)


def _counts(chosen: np.ndarray[Any, Any], widths: np.ndarray[Any, Any]) -> Any:
    """How many positions of each sample a mask selects."""
    if not len(widths) or (widths != widths[0]).any():
        return ops.row_sum(chosen, ops.Rows(widths, len(chosen))).astype(np.int64)
    if not len(chosen):
        return np.zeros(len(widths), np.int64)
    return np.count_nonzero(chosen.reshape(len(widths), -1), axis=1)


def _stretches(chosen: np.ndarray[Any, Any]) -> Any:
    """The true positions of a mask. Few stretches are slices, which copy four times faster."""
    edges = np.flatnonzero(chosen[1:] != chosen[:-1]) + 1
    if len(edges) >= 2 * RUNS:
        return np.flatnonzero(chosen)
    ends = [0, *edges.tolist(), len(chosen)]
    return [slice(start, stop) for start, stop in pairwise(ends) if start < stop and chosen[start]]


def _positions(index: Any) -> Any:
    if not isinstance(index, list):
        return index
    return np.concatenate([np.arange(part.start, part.stop) for part in index]) if index else np.empty(0, np.intp)


def _picked(flat: Any, index: Any) -> Any:
    if index is None:
        return flat
    if isinstance(index, list):
        return np.concatenate([flat[part] for part in index]) if index else flat[:0]
    return flat[index] if ops.is_torch(flat) else flat.take(index, axis=0)


def _sliced(x: Any, start: int, stop: int) -> Any:
    return {name: _sliced(column, start, stop) for name, column in x.items()} if isinstance(x, dict) else x[start:stop]
