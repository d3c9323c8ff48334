"""Token arrays in the layouts people have them in: padded [B, T], a list of B rows, or packed [N] with lengths.

All three answer one question, `take(start, stop)`: the tokens of those samples, one sample after the other, as a flat array. A padded or packed
array answers with a view, so reading a batch block by block copies nothing before a mask selects.
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

    def widths(self) -> np.ndarray[Any, Any]:
        return np.full(self.array.shape[0], self.array.shape[1], np.int64)

    def take(self, start: int, stop: int) -> Any:
        part = self.array[start:stop]
        return part.reshape(-1, *part.shape[2:])


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    rows: Sequence[Any]

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

    def widths(self) -> np.ndarray[Any, Any]:
        return np.diff(self.offsets)

    def take(self, start: int, stop: int) -> Any:
        return self.flat[int(self.offsets[start]) : int(self.offsets[stop])]


@dataclass(frozen=True, slots=True, eq=False)
class PerSample:
    """One value per sample, standing for all its tokens."""

    values: Any

    def take(self, start: int, stop: int) -> Any:
        return self.values[start:stop]


Tokens = Padded | Ragged | Packed | PerSample


def on_host(x: Any, keep: bool = False) -> Any:
    """A torch tensor of the CPU as the numpy array it shares memory with; a device tensor stays, without its graph."""
    if not ops.is_torch(x):
        return x
    x = x.detach()
    if x.device.type != "cpu" or keep:
        return x
    torch = sys.modules["torch"]
    return (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x).numpy()


def arrays(x: Any, keep: bool = False) -> Any:
    """An array, or a list of one array per sample. A list of arrays is ragged even where they are of one length; lists in a list are then a table."""
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
