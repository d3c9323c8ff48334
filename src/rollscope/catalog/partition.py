"""Distribute sequences over ranks so that all get about the same number of tokens.

This is Karmarkar and Karp's largest differencing method, in the form that gives all ranks the same
number of sequences, up to one. Swaps between the heaviest and the lightest rank follow, as long as
they narrow the gap. It serves batches that only know their number of ranks.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

_SWAPS = 10_000  # a bound, not a target: each swap narrows the gap, and a few dozen are usual


def chunks(lengths: Sequence[float], ranks: int) -> list[float]:
    """The tokens of each rank if the batch is cut, in its own order, into parts of equal count."""
    return [float(part.sum()) for part in np.array_split(np.asarray(lengths, np.float64), ranks)]


def partition(lengths: Sequence[float], ranks: int) -> list[list[int]]:
    """The sequence numbers of each rank, balanced in tokens and equal in count up to one.

    >>> partition([9, 7, 6, 5, 5, 4], 2)
    [[0, 4, 5], [1, 2, 3]]
    """
    return _polish([float(n) for n in lengths], _difference([float(n) for n in lengths], ranks))


def _difference(lengths: list[float], ranks: int) -> list[list[int]]:
    """Put sequences of similar size into rows with one for each rank, then merge the rows.

    The two rows with the widest gap merge, heaviest with lightest, until one row is left.
    """
    padded = sorted(((n, i) for i, n in enumerate(lengths)), reverse=True)
    padded += [(0.0, -1)] * (-len(padded) % ranks)  # placeholders, so that all rows are full
    rows = [padded[i : i + ranks] for i in range(0, len(padded), ranks)]
    heap = [(row[-1][0] - row[0][0], number, [(n, [i]) for n, i in row]) for number, row in enumerate(rows)]
    heapq.heapify(heap)
    number = len(rows)
    while len(heap) > 1:
        a, b = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
        merged = [(m + n, i + j) for (m, i), (n, j) in zip(a, reversed(b), strict=True)]
        merged.sort(key=lambda pair: -pair[0])
        heapq.heappush(heap, (merged[-1][0] - merged[0][0], number, merged))
        number += 1
    parts = [sorted(i for i in items if i >= 0) for _, items in heap[0][2]] if heap else [[] for _ in range(ranks)]
    return sorted(parts, key=lambda part: part or [len(lengths)])


def _polish(lengths: list[float], parts: list[list[int]]) -> list[list[int]]:
    """Swap sequences between the heaviest and the lightest rank while that narrows the gap."""
    loads = [sum(lengths[i] for i in part) for part in parts]
    for _ in range(_SWAPS):
        high, low = max(range(len(parts)), key=loads.__getitem__), min(range(len(parts)), key=loads.__getitem__)
        swap = _best_swap(lengths, parts[high], parts[low], loads[high] - loads[low])
        if swap is None:
            break
        i, j = swap
        parts[high][parts[high].index(i)], parts[low][parts[low].index(j)] = j, i
        loads[high] -= lengths[i] - lengths[j]
        loads[low] += lengths[i] - lengths[j]
    return [sorted(part) for part in parts]


def _best_swap(lengths: list[float], heavy: list[int], light: list[int], gap: float) -> tuple[int, int] | None:
    """The swap that comes nearest to closing the gap, or None if no swap narrows it."""
    if not heavy or not light or gap <= 0:
        return None
    a, b = np.array([lengths[i] for i in heavy]), np.array([lengths[j] for j in light])
    moved = a[:, None] - b[None, :]
    left = np.abs(gap - 2 * moved)
    left[(moved <= 0) | (moved >= gap)] = np.inf
    at = np.unravel_index(int(np.argmin(left)), left.shape)
    return (heavy[at[0]], light[at[1]]) if np.isfinite(left[at]) else None
