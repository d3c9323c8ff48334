"""Clocks of several hosts put together: a cause must not end after its effect began.

A weight update leaves the trainer before an engine generates with it; a sample is scored before the
update that trains on it begins. Each such pair bounds how far a unit's clock may be from the
trainer's. A clock within its bounds is left alone; another is moved into them, and it is said how
far, and how well that is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .phases import phase
from .rows import NONE, Ints, Mask, Rows

Floats = NDArray[np.float64]

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
    low, high = np.full(len(codes) + 1, -np.inf), np.full(len(codes) + 1, np.inf)
    _bound_by_updates(rows, unit, trainer, low)
    _bound_by_batches(rows, unit, trainer, high)
    moved = {code: _shift(low[code], high[code]) for code in np.unique(unit[~trainer]).tolist()}
    shifts = [
        Shift(name, moved[code] / 1e9, _residual(low[code], high[code]))
        for name, code in codes.items()
        if moved.get(code)
    ]
    return (moved_by(rows, shifts)[0] if shifts else rows), shifts


def moved_by(rows: Rows, shifts: Sequence[Shift]) -> tuple[Rows, Ints]:
    """Rows with clocks moved, sorted by start again, and where each was before."""
    by_unit = {shift.unit: round(shift.seconds * 1e9) for shift in shifts}
    of_lane = np.array([by_unit.get(unit, 0) for unit in rows.units()] or [0])
    added = of_lane[rows.lane] * ~rows.on_trainer()
    order = np.argsort(rows.start + added, kind="stable")
    start, end = (rows.start + added)[order], (rows.end + added)[order]
    rows = rows.only(order)
    rows.start, rows.end = start, end
    return rows, order


def _shift(low: float, high: float) -> int:
    """What to add to a clock: nothing within its bounds, else the nearest or the middle."""
    if low <= TOLERANCE_NS and high >= -TOLERANCE_NS:
        return 0
    if math.isfinite(low) and math.isfinite(high):
        return round((low + high) / 2)
    return round(low if math.isfinite(low) else high)


def _residual(low: float, high: float) -> float | None:
    return float((high - low) / 2e9) if math.isfinite(high - low) and high > low else None


def _bound_by_updates(rows: Rows, unit: Ints, trainer: Mask, low: Floats) -> None:
    """A version is loaded, and used, after the trainer began to send it."""
    sync = np.array([phase(name) == "sync" for name in rows.names] or [False])[rows.name]
    others = np.flatnonzero(~trainer & (rows.version != NONE))
    moment = np.where(sync, rows.end, rows.start)
    for i in np.flatnonzero(trainer & sync & (rows.version != NONE)).tolist():
        used = others[rows.version[others] == rows.version[i]]
        np.maximum.at(low, unit[used], (rows.start[i] - moment[used]).astype(np.float64))


def _bound_by_batches(rows: Rows, unit: Ints, trainer: Mask, high: Floats) -> None:
    """What the trainer works on has ended before; what it waits for, before the wait ends."""
    effects = [i for i in np.flatnonzero(trainer).tolist() if rows.causes[i] is not None]
    if not effects:
        return
    keys = {key: i for i, key in enumerate(rows.keys())}
    moment = np.where(rows.wait, rows.end, rows.start)
    for i in effects:
        for at in (keys[cause] for cause in rows.causes_of(i) if cause in keys):
            if not trainer[at]:
                high[unit[at]] = min(high[unit[at]], float(moment[i] - rows.end[at]))
