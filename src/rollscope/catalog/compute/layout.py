"""Token arrays in three layouts: padded [B, T], a list of B rows, or packed [N] with lengths.

`take(start, stop)` returns the tokens of these samples, one sample after the other, as a flat
array. For a padded or packed array it is a view, so nothing is copied before a mask selects.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.catalog.partials import ops


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    array: Any

    def first(self) -> Any:
        return self.array

    def to(self, device: Any) -> Padded:
        return Padded(_tensor(self.array, device))

    def widths(self) -> np.ndarray[Any, Any]:
        return np.full(self.array.shape[0], self.array.shape[1], np.int64)

    def take(self, start: int, stop: int) -> Any:
        part = self.array[start:stop]
        return part.reshape(-1, *part.shape[2:])


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    rows: Sequence[Any]

    def first(self) -> Any:
        return self.rows[0] if self.rows else None

    def to(self, device: Any) -> Ragged:
        return Ragged([_tensor(row, device) for row in self.rows])

    def widths(self) -> np.ndarray[Any, Any]:
        return np.array([len(row) for row in self.rows], np.int64)

    def take(self, start: int, stop: int) -> Any:
        rows = self.rows[start:stop]
        if rows and ops.is_torch(rows[0]):
            return sys.modules["torch"].cat(list(rows))
        return np.concatenate(rows) if rows else np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    flat: Any
    offsets: np.ndarray[Any, Any]

    def first(self) -> Any:
        return self.flat

    def to(self, device: Any) -> Packed:
        return Packed(_tensor(self.flat, device), self.offsets)

    def widths(self) -> np.ndarray[Any, Any]:
        return np.diff(self.offsets)

    def take(self, start: int, stop: int) -> Any:
        return self.flat[int(self.offsets[start]) : int(self.offsets[stop])]


@dataclass(frozen=True, slots=True, eq=False)
class PerSample:
    """One value per sample, for all its tokens."""

    values: Any

    def to(self, device: Any) -> PerSample:
        return PerSample(_tensor(self.values, device))

    def take(self, start: int, stop: int) -> Any:
        return self.values[start:stop]


Tokens = Padded | Ragged | Packed | PerSample


def _tensor(x: Any, device: Any) -> Any:
    return sys.modules["torch"].as_tensor(x, device=device)


def on_host(x: Any, keep: bool = False) -> Any:
    """Turn a CPU tensor into the numpy array that shares its memory, and drop any graph.

    A device tensor stays a tensor, and so does a CPU tensor with `keep`.
    """
    if not ops.is_torch(x):
        return x
    x = x.detach()
    if x.device.type != "cpu" or keep:
        return x
    torch = sys.modules["torch"]
    return (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x).numpy()


def arrays(x: Any, keep: bool = False) -> Any:
    """Return an array, or a list with one array per sample.

    A list of arrays stays a list, even if all have one length. A list of equally long lists becomes
    an array.
    """
    if ops.is_torch(x):
        return [on_host(row, keep) for row in x.unbind()] if x.is_nested else on_host(x, keep)
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x
    rows = list(x)
    if not rows or (np.ndim(rows[0]) == 0 and not ops.is_torch(rows[0])):
        return np.asarray(rows)
    if all(isinstance(row, (list, tuple)) for row in rows) and len({len(row) for row in rows}) == 1:
        return np.asarray(rows)
    return [on_host(row, keep) if ops.is_torch(row) else np.asarray(row) for row in rows]
