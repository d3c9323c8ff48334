"""Series of one run in buckets on a grid that several runs share.

On the step axis each bucket holds the same whole number of steps, so no bucket edge cuts a step in
two. A range is always given in steps and translated to the clock that is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.naming import Found
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns

from .clock import Clock, has_readings, range_on_clock

NAMES_AT_ONCE = 60  # names read together; between two such reads the reader may stop
NANOSECONDS = 1e9  # the store's time clock counts in them, the grid in seconds
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Grid:
    """Outer edges and number of the buckets."""

    lo: float
    hi: float
    count: int

    @property
    def width(self) -> float:
        return (self.hi - self.lo) / self.count

    @property
    def centres(self) -> NDArray[np.float64]:
        return np.asarray(self.lo + (np.arange(self.count) + 0.5) * self.width, np.float64)


def grid_over(ranges: Sequence[Range], clock: Clock, points: int) -> Grid:
    """A grid of at most `points` buckets over all ranges; a bucket per step if they fit."""
    lo = min((first for first, _ in ranges), default=0.0)
    hi = max((last for _, last in ranges), default=1.0)
    if clock != "step":
        return Grid(lo, hi if hi > lo else lo + 1, points)
    lo, hi = float(np.floor(lo)), float(np.ceil(hi))
    width = max(1, int(np.ceil((hi - lo + 1) / points)))
    count = int(np.ceil((hi - lo + 1) / width))
    return Grid(lo - 0.5, lo - 0.5 + width * count, count)


def range_of_run(run: Run, clock: Clock, lo: float | None, hi: float | None, start: int) -> Range | None:
    """The run's readings at steps `lo` and `hi`, but not before `start`; None if none are left."""
    first, last = run.step_range
    low = max(float(first) if lo is None else lo, float(start))
    high = float(last) if hi is None else hi
    if high < low:
        return None
    return (low, high) if clock == "step" else range_on_clock(run, clock, low, high)


def held_names(run: Run, names: Sequence[str], beside: bool = False) -> list[Found]:
    """What each name means on the run, sorted by name. Names that it does not hold are left out.

    `beside` other runs, a number that is not quite what the name promises is left out, too.
    """
    found = (_held(run, name) for name in sorted(set(names)))
    return [one for one in found if one is not None and not (beside and one.warning)]


def _held(run: Run, name: str) -> Found | None:
    """The one series that a name means; a name with several meanings has none."""
    found = run.find_all(name)
    return found[0] if len(found) == 1 else None


def buckets(
    run: Run,
    names: Sequence[str],
    clock: Clock,
    grid: Grid,
    start: int,
    stopped: Callable[[], bool],
    env: str = "",
) -> Columns | None:
    """Statistics as matrices of names by buckets, without steps before `start`, of an environment.

    None if there is nothing to read, or once `stopped()` is true.
    """
    if not names or not has_readings(run, clock):
        return None
    scale = NANOSECONDS if clock == "time" else 1.0
    batches: list[Columns] = []
    for at in range(0, len(names), NAMES_AT_ONCE):
        if stopped():
            return None
        some = names[at : at + NAMES_AT_ONCE]
        batches.append(run.buckets(some, grid.lo * scale, grid.hi * scale, grid.count, clock, env))
    return _without_early(_joined(batches), start)


def _joined(batches: list[Columns]) -> Columns:
    if len(batches) == 1:
        return batches[0]
    return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0] if key != "edges"}


def _without_early(columns: Columns, start: int) -> Columns:
    if not start:
        return columns
    early = columns["step"] < start
    empty = {name: np.where(early, np.nan, columns[name]) for name in ("min", "max", "mean", "last")}
    zero = {name: np.where(early, 0, columns[name]) for name in ("count", "nan", "posinf", "neginf")}
    return {**columns, **empty, **zero}


def non_finite(columns: Columns, row: int) -> dict[str, list[list[int]]]:
    """Buckets of one series with NaN, +infinity and -infinity, as [bucket, count] pairs."""
    return {
        "nan": _pairs(columns["nan"][row]),
        "up": _pairs(columns["posinf"][row]),
        "down": _pairs(columns["neginf"][row]),
    }


def _pairs(counts: NDArray[Any]) -> list[list[int]]:
    at = np.flatnonzero(counts)
    return np.stack([at, counts[at]], 1).tolist() if len(at) else []
