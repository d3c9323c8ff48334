"""A range of steps: how long each took and how its units spent it, and what changed when it slowed.

Everything is computed at once over all segments, cut at the ends of steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.views.time.times import times
from rollscope.views.timeline.phases import Phase, phase
from rollscope.views.timeline.rows import Rows, read_brief
from rollscope.views.timeline.segments import segments
from rollscope.views.timeline.window import step_bounds

Floats = NDArray[np.float64]
PHASES: tuple[Phase, ...] = ("generate", "tool", "grader", "sync", "train", "eval", "checkpoint", "other")
LEAST_STEPS = 6  # of which each half has three
SLOWER = 1.1


@dataclass(slots=True)
class Stretch:
    """By step: its wall time; by step and unit: seconds of a lane busy and waiting."""

    steps: list[int]
    wall: Floats
    units: list[str]
    busy: Floats  # [steps, units], in shares of the step
    waiting: Floats
    phases: dict[Phase, Floats]  # seconds of each phase, all lanes together
    trainers: list[bool]

    def json(self) -> dict[str, Any]:
        """Medians over the steps."""
        rows = zip(self.units, np.nanmedian(self.busy, 0), np.nanmedian(self.waiting, 0), strict=True)
        lanes = [{"lane": u, "busy": b, "waiting": w, "idle": max(0.0, 1 - b - w)} for u, b, w in rows]
        seconds = {name: float(np.median(values)) for name, values in self.phases.items() if values.any()}
        return {"steps": self.steps, "wall_s": float(np.median(self.wall)), "lanes": lanes, "phases": seconds}

    def side(self, trainer: bool) -> Floats:
        """The share of each step that the trainers, or all others, waited, by its median unit."""
        own = [i for i, is_trainer in enumerate(self.trainers) if is_trainer == trainer]
        return np.median(self.waiting[:, own], 1) if own else np.full(len(self.steps), np.nan)


def stretch(run: Run, lo: int | None = None, hi: int | None = None) -> Stretch:
    """All steps of a run that have a step before them, or those from `lo` to `hi`."""
    wanted = None if lo is None or hi is None else range(lo - 1, hi + 2)
    rows = read_brief(run, wanted)
    bounds = step_bounds(rows)
    steps = [s for s in sorted(bounds) if s - 1 in bounds and bounds[s][1] > bounds[s][0]]
    return _summed(rows, [s for s in steps if (lo is None or s >= lo) and (hi is None or s <= hi)], bounds)


def _summed(rows: Rows, steps: list[int], bounds: dict[int, tuple[int, int]]) -> Stretch:
    starts, ends = (np.array([bounds[s][i] for s in steps], np.int64) for i in (0, 1))
    cut = segments(rows)
    names = rows.units()
    units = sorted(set(names))
    number = {unit: i for i, unit in enumerate(units)}
    unit_of = np.array([number[name] for name in names] or [0])
    lane_of = np.array(cut.lanes or [0])
    unit = unit_of[lane_of[cut.track]] if len(cut.track) else cut.track
    tracks = np.bincount(unit_of[lane_of], minlength=len(units)) if cut.lanes else np.ones(len(units))
    piece, window = _pieces(cut.start, cut.end, starts, ends)
    seconds = (np.minimum(cut.end[piece], ends[window]) - np.maximum(cut.start[piece], starts[window])) / 1e9
    wall = (ends - starts) / 1e9
    wait = rows.wait[cut.span[piece]]
    cell = window * len(units) + unit[piece]

    def share(which: NDArray[np.bool_]) -> Floats:
        total = np.bincount(cell[which], seconds[which], len(steps) * len(units)).reshape(len(steps), len(units))
        return total / (wall[:, None] * tracks)

    kinds = np.array([PHASES.index(phase(name)) for name in rows.names] or [0])[rows.name[cut.span[piece]]]
    by_phase = {
        name: np.bincount(window[~wait & (kinds == i)], seconds[~wait & (kinds == i)], len(steps)).astype(np.float64)
        for i, name in enumerate(PHASES)
    }
    trainers = {names[code] for code in np.unique(rows.lane[rows.on_trainer()]).tolist()}
    return Stretch(steps, wall, units, share(~wait), share(wait), by_phase, [unit in trainers for unit in units])


def _pieces(start: Any, end: Any, starts: Any, ends: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each segment and each step it reaches into."""
    first, last = np.searchsorted(ends, start, "right"), np.searchsorted(starts, end, "left")
    count = np.maximum(0, last - first)
    piece = np.repeat(np.arange(len(start)), count)
    window = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + first[piece]
    return piece, window


@dataclass(frozen=True, slots=True)
class Slower:
    """A phase that takes longer than before, per token where tokens are known."""

    name: str
    before: float
    after: float
    per_token: bool

    @property
    def says(self) -> str:
        unit = "s a token" if self.per_token else "s a step"
        longer = f"{self.name} takes {self.after / self.before:.2f} times as long"
        return f"{longer}: {self.after:.3g} {unit}, before {self.before:.3g}."


def slower(run: Run) -> list[Slower]:
    """What takes longer in the later half of a run, the most first; per token before per step.

    A phase whose seconds per token stayed is left out: then answers got longer, not the machine
    slower.
    """
    metrics = times(run)
    found = []
    for name, series in metrics.items():
        if not name.startswith("time/") or name.count("/") > 1 or name in ("time/step", "time/active"):
            continue
        own = metrics.get(name.replace("time/", "time_per_token/", 1))
        before, after = _halves((own or series)["value"])
        if before > 0 and after > SLOWER * before:
            found.append(Slower(name.removeprefix("time/"), before, after, own is not None))
    return sorted(found, key=lambda one: -one.after / one.before)


def _halves(values: Floats) -> tuple[float, float]:
    """Medians of the first and the last third; NaN for a short series."""
    if len(values) < LEAST_STEPS:
        return float("nan"), float("nan")
    third = len(values) // 3
    return float(np.median(values[:third])), float(np.median(values[-third:]))
