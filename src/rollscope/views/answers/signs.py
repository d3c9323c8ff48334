"""What rules ask: which side starves, what syncs and stragglers cost, which lane is silent."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rollscope.store.run import Run
from rollscope.views.time.times import times
from rollscope.views.timeline.rows import NONE, Rows, read_rows

from .stretch import stretch

MUCH, LITTLE = 0.25, 0.05  # shares of a step that a side waits
MANY = 3  # closed spans of a lane, from which its silence is judged
TAIL_SHARE = 0.1  # of slots, below which only stragglers are left


@dataclass(frozen=True, slots=True)
class Starved:
    """Shares of a step that each side waits, in the median."""

    trainer: float
    inference: float

    @property
    def side(self) -> str | None:
        """The side that waits more than a quarter of the time while the other hardly does."""
        for side, own, other in (
            ("trainer", self.trainer, self.inference),
            ("inference", self.inference, self.trainer),
        ):
            if own > 0.25 and not other > 0.05:
                return side
        return None


def starved(run: Run, lo: int | None = None, hi: int | None = None) -> Starved:
    found = stretch(run, lo, hi)
    sides = (found.side(trainer=True), found.side(trainer=False))
    return Starved(*(float(np.median(side)) if len(side) else float("nan") for side in sides))


def sync_share(run: Run) -> float:
    """What a weight update takes of a step, on the side that takes longer; in the median."""
    metrics = times(run)
    total = metrics.get("time/step")
    sides = [metrics[name] for name in ("time/weight_sync/trainer", "time/weight_sync/inference") if name in metrics]
    if total is None or not sides:
        return float("nan")
    wall = dict(zip(total["step"].tolist(), total["value"].tolist(), strict=True))
    shares: dict[int, float] = {}
    for side in sides:
        for step, seconds in zip(side["step"].tolist(), side["value"].tolist(), strict=True):
            if wall.get(step):
                shares[step] = max(shares.get(step, 0.0), seconds / wall[step])
    return float(np.median(list(shares.values()))) if shares else float("nan")


@dataclass(frozen=True, slots=True)
class Straggler:
    """The sample that ended last in a step, and how long it was almost alone."""

    step: int
    sample: str
    lane: str
    seconds: float
    share: float  # of the step


def stragglers(run: Run, lo: int | None = None, hi: int | None = None) -> list[Straggler]:
    """For each step, how long fewer than a tenth of its samples were still being generated."""
    rows = read_rows(run, None if lo is None or hi is None else range(lo, hi + 1))
    found = stretch(run, lo, hi)
    return [
        one for step, wall in zip(found.steps, found.wall.tolist(), strict=True) if (one := _tail(rows, step, wall))
    ]


def _tail(rows: Rows, step: int, wall: float) -> Straggler | None:
    own = np.flatnonzero((rows.step == step) & (rows.sample != NONE) & ~rows.wait)
    if len(own) < 1 / TAIL_SHARE:
        return None
    order = own[np.argsort(rows.end[own], kind="stable")]
    alone = int(rows.end[order[-1]] - rows.end[order[-1 - int(TAIL_SHARE * len(own))]]) / 1e9
    last = int(order[-1])
    sample, lane = rows.samples[rows.sample[last]], rows.lanes[rows.lane[last]]
    return Straggler(step, sample, lane, alone, alone / wall if wall else float("nan"))


@dataclass(frozen=True, slots=True)
class Silent:
    """A lane that has recorded nothing for long, against its usual pause."""

    lane: str
    last: str  # the name of its last span
    seconds: float
    usual: float


def silent(run: Run, now_ns: int | None = None, factor: float = 6.0) -> list[Silent]:
    """Lanes whose last span ended longer ago than `factor` times their longest pause."""
    rows = read_rows(run)
    now = time.time_ns() if now_ns is None else now_ns
    found = []
    for code, lane in enumerate(rows.lanes):
        own = np.flatnonzero(rows.lane == code)
        if len(own) <= MANY:
            continue
        ends = np.sort(rows.end[own])
        usual, since = float(np.median(np.diff(ends))) / 1e9, (now - int(ends[-1])) / 1e9
        if since > factor * float(np.diff(ends).max()) / 1e9:
            last = int(own[np.argmax(rows.end[own])])
            found.append(Silent(lane, rows.names[rows.name[last]], since, usual))
    return sorted(found, key=lambda one: -one.seconds)
