"""Clocks of several hosts put together: a cause must not end after its effect began.

A weight update leaves the trainer before an engine generates with it; a sample is scored before the
update that trains on it begins. Each such pair bounds how far a unit's clock may be from the
trainer's. A clock within its bounds is left alone; another is moved into them, and it is said how
far, and how well that is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .phases import phase
from .rows import NONE, Rows

TOLERANCE_NS = 5_000_000  # messages and threads alone are apart by so much


@dataclass(frozen=True, slots=True)
class Shift:
    """How a unit's clock was moved, and within which seconds that is known."""

    unit: str
    seconds: float
    residual: float | None

    @property
    def says(self) -> str:
        how = "behind" if self.seconds > 0 else "ahead of"
        known = "; nothing bounds it from the other side" if self.residual is None else f" to ± {self.residual:.3g} s"
        return (
            f"The clock of {self.unit} is {abs(self.seconds):.3g} s {how} the trainer's;"
            f" weight updates and batches align it{known}."
        )


def aligned(rows: Rows) -> tuple[Rows, list[Shift]]:
    """Rows on the trainer's clock, and how each unit's clock was moved."""
    units, trainer = rows.units(), rows.on_trainer()
    codes = {unit: code for code, unit in enumerate(dict.fromkeys(units))}
    unit = np.array([codes[name] for name in units] or [0])[rows.lane]
    shifts = []
    start, end, queued = rows.start, rows.end, rows.queued
    for name, code in codes.items():
        own = unit == code
        if not own.any() or trainer[own].any():
            continue
        low, high = _bounds(rows, own & ~trainer, trainer)
        moved = _shift(low, high)
        if moved:
            start, end = start + moved * own, end + moved * own
            residual = (high - low) / 2e9 if math.isfinite(high - low) and high > low else None
            shifts.append(Shift(name, moved / 1e9, residual))
    if not shifts:
        return rows, []
    order = np.argsort(start, kind="stable")
    rows = rows.only(order)
    rows.start, rows.end, rows.queued = start[order], end[order], queued[order]
    return rows, shifts


def _shift(low: float, high: float) -> int:
    """What to add to a clock: nothing within its bounds, else the nearest or the middle."""
    if low <= TOLERANCE_NS and high >= -TOLERANCE_NS:
        return 0
    if math.isfinite(low) and math.isfinite(high):
        return round((low + high) / 2)
    return round(low if math.isfinite(low) else high)


def _bounds(rows: Rows, own: np.ndarray, trainer: np.ndarray) -> tuple[float, float]:
    """The least and the most that may be added to the times of a unit."""
    sync = np.array([phase(name) == "sync" for name in rows.names] or [False])[rows.name]
    low = -math.inf
    for i in np.flatnonzero(trainer & sync & (rows.version != NONE)).tolist():
        with_version = own & (rows.version == rows.version[i])
        if with_version.any():
            low = max(low, float(rows.start[i] - np.where(sync, rows.end, rows.start)[with_version].min()))
    return low, _latest(rows, own, trainer)


def _latest(rows: Rows, own: np.ndarray, trainer: np.ndarray) -> float:
    """By how much the last cause in the unit precedes its effect on the trainer."""
    keys = {key: i for i, key in enumerate(rows.keys())}
    high = math.inf
    for i in np.flatnonzero(trainer & (rows.causes != None)).tolist():  # noqa: E711 (a column of texts)
        for cause in rows.causes_of(i):
            at = keys.get(cause)
            if at is not None and own[at]:
                high = min(high, float(rows.start[i] - rows.end[at]))
    return high
