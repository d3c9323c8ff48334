"""Lanes for a page: the tracks of a run, and spans of a stretch of time at a screen's resolution.

Spans as wide as a pixel come as they are. Narrower ones that fall into the same pixel of the same
track are drawn as one, of the name that takes most of it; zoomed in, every span comes as it is. A
view of many steps does not say which samples its spans worked on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from typing_extensions import TypedDict

from rollscope.store.run import Run

from .clocks import Shift, aligned, moved_by
from .rows import NONE, Ints, Mask, Rows, filled, places, read_brief, read_rows, read_table, start_order
from .segments import tracks
from .window import step_bounds

EXACT = 20_000  # spans of a view that come as they are
WAIT, MERGED, DROPPED = 1, 2, 4
PARTS = ("trainer", "inference", "engine", "rollout", "env", "reward", "eval")
CLOCK_STEPS = 8  # steps that say how far clocks are apart
FEW_STEPS = 64  # steps of a view whose spans are read again with all columns, and whose samples are looked up


class Track(TypedDict):
    lane: str
    unit: str
    number: int  # of several tracks of a lane, from 0


class Lanes:
    """The spans of a run, placed on tracks, kept until the run changes.

    `rows` has their keys, lanes, names, versions and times; `full` has all that is known of a few.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        rows = read_brief(run)
        self._order = np.arange(len(rows))  # of the rows by start, before clocks were moved
        if shifts := _shifts(run, rows):
            rows, self._order = moved_by(rows, shifts)
        self.rows = rows
        track, lane_of = tracks(rows)
        order_of_tracks = sorted(range(len(lane_of)), key=lambda t: _place(rows.lanes[lane_of[t]], t))
        place = np.empty(len(order_of_tracks), np.int64)
        place[order_of_tracks] = np.arange(len(order_of_tracks))
        self.track: Ints = place[track] if len(track) else track
        self.tracks = list(_tracks([rows.lanes[lane_of[t]] for t in order_of_tracks]))
        self.origin = int(rows.start[0]) if len(rows) else 0
        self.end = int(rows.end.max()) if len(rows) else 0
        self.reach = np.maximum.accumulate(rows.end) if len(rows) else rows.end
        self.bounds = step_bounds(rows)

    def full(self, which: Ints) -> Rows:
        """Some spans, in ascending order, with all that is known of them."""
        rows = self._of_few_steps(which)
        if rows is None:
            rows = filled(self.table.take(pa.array(which)))
        rows.start, rows.end = self.rows.start[which], self.rows.end[which]  # on the trainer's clock
        return rows

    def are_few(self, which: Ints) -> bool:
        """Are they of so few steps that it takes little to read what they worked on?"""
        return len(self.rows) <= EXACT or len(np.unique(self.rows.step[which])) <= FEW_STEPS

    @cached_property
    def table(self) -> pa.Table:
        """All that is known of every span, by its number; it takes long to read."""
        table = read_table(self._run)
        return table.take(pa.array(start_order(table)[self._order]))

    def _of_few_steps(self, which: Ints) -> Rows | None:
        """Spans read with their steps; None if they are of many steps or of none."""
        steps = np.unique(self.rows.step[which])
        if "table" in self.__dict__ or len(steps) > FEW_STEPS or (steps == NONE).any():
            return None
        near = read_rows(self._run, steps.tolist())
        place = places(near, self.rows.only(which))
        return None if (place == NONE).any() else near.only(place)

    def within(self, lo: int, hi: int) -> Ints:
        """The spans that overlap a stretch of time."""
        first = int(np.searchsorted(self.reach, lo, "left"))
        last = int(np.searchsorted(self.rows.start, hi, "right"))
        return first + np.flatnonzero(self.rows.end[first:last] >= lo)

    def around(self, step: int | None) -> tuple[int, int]:
        """What a page shows of a step, by default the last: from the step before to the one after.

        Of a step without spans it shows the nearest before; of a run without steps all.
        """
        steps = sorted(self.bounds)
        if not steps:
            return self.origin, self.end
        at = len(steps) - 1 if step is None else max(0, bisect_right(steps, step) - 1)
        start = self.bounds[steps[max(0, at - 1)]][0]
        return start, max(start, self.bounds[steps[min(len(steps) - 1, at + 1)]][1])


def _shifts(run: Run, rows: Rows) -> list[Shift]:
    """How the clocks of units are apart, by the last steps."""
    steps = sorted(step_bounds(rows))[-CLOCK_STEPS:]
    return aligned(read_rows(run, steps))[1] if steps else []


def lanes_of(run: Run) -> Lanes:
    return run.remember("timeline lanes", lambda: Lanes(run))


def _place(lane: str, track: int) -> tuple[int, list[tuple[int, str]], int]:
    """Trainer first, then engines, environments and the rest; 2 before 10."""
    words = lane.split("/")
    part = next((i for i, word in enumerate(PARTS) if words[0].startswith(word)), len(PARTS))
    return part, [(int(word), "") if word.isdecimal() else (-1, word) for word in words], track


def _tracks(lanes: list[str]) -> Iterator[Track]:
    seen: dict[str, int] = {}
    for lane in lanes:
        seen[lane] = seen.get(lane, -1) + 1
        yield {"lane": lane, "unit": "/".join(lane.split("/")[:2]), "number": seen[lane]}


def picture(run: Run, lo: int, hi: int, pixels: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The spans of a stretch, in seconds since the first span of the run.

    `tracks` and `names` count those of the run then: who has as many has the same.
    """
    lanes = lanes_of(run)
    rows, found = lanes.rows, lanes.within(lo, hi)
    width = max(1, (hi - lo) // max(1, pixels))
    wide = (rows.end[found] - rows.start[found] >= width) | (len(found) <= EXACT)
    exact, narrow = found[wide], found[~wide]
    is_near = lanes.are_few(exact)
    full = lanes.full(exact) if is_near else lanes.rows.only(exact)
    columns = _columns(lanes, exact)
    columns["flags"] |= (_dropped(run, full) * DROPPED).astype(np.uint8)
    columns["version"], columns["sample"] = full.version.astype(np.int32), full.sample.astype(np.int32)
    if len(narrow):
        merged = _merged(lanes, narrow, lo, width)
        columns = {name: np.concatenate([values, merged[name]]) for name, values in columns.items()}
    head = {"spans": len(found), "exact": is_near and not len(narrow), "samples": full.samples}
    stretch = {"lo": (lo - lanes.origin) / 1e9, "hi": (hi - lanes.origin) / 1e9}
    return {**head, **stretch, "tracks": len(lanes.tracks), "names": len(rows.names)}, columns


def _columns(lanes: Lanes, which: Ints) -> dict[str, NDArray[Any]]:
    """What is drawn of some spans; of merged ones no version and no sample."""
    rows = lanes.rows
    return {
        "start": (rows.start[which] - lanes.origin) / 1e9,
        "end": (rows.end[which] - lanes.origin) / 1e9,
        "track": lanes.track[which].astype(np.uint32),
        "name": rows.name[which].astype(np.uint32),
        "flags": (rows.wait[which] * WAIT).astype(np.uint8),
        "count": np.ones(len(which), np.uint32),
        "version": np.full(len(which), NONE, np.int32),
        "sample": np.full(len(which), NONE, np.int32),
        "row": which.astype(np.uint32),
    }


def _dropped(run: Run, rows: Rows) -> Mask:
    """Which spans worked on samples that were discarded."""
    none = np.zeros(len(rows), bool)
    steps = np.unique(rows.step)
    if not len(rows.samples) or len(steps) > FEW_STEPS or not run.has("samples"):
        return none
    near = range(int(steps.min(initial=0)) - 2, int(steps.max(initial=0)) + 5)
    table = run.samples_of_steps(["id", "trained"], near)
    lost = {
        id for id, trained in zip(*(table[c].to_pylist() for c in ("id", "trained")), strict=True) if trained is False
    }
    codes = [code for code, sample in enumerate(rows.samples) if sample in lost]
    return np.isin(rows.sample, codes) if codes else none


def _merged(lanes: Lanes, which: Ints, lo: int, width: int) -> dict[str, NDArray[Any]]:
    """Narrow spans by track and pixel, each of the name that takes most of it."""
    rows, names = lanes.rows, len(lanes.rows.names)
    pixel = np.maximum(0, (rows.start[which] - lo) // width)
    key = (lanes.track[which] * (int(pixel.max()) + 1) + pixel) * names + rows.name[which]
    keys, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    length = np.bincount(inverse, rows.end[which] - rows.start[which])
    count = np.bincount(inverse)
    cell = keys // names
    order = np.lexsort((-length, cell))
    best = order[np.concatenate([[True], cell[order][1:] != cell[order][:-1]])]
    some = which[first[best]]
    start = lo + pixel[first[best]] * width
    merged = _columns(lanes, some)
    covered = np.bincount(np.searchsorted(cell[best], cell), length)
    merged["start"] = (start - lanes.origin) / 1e9
    merged["end"] = (start + np.clip(covered, width // 8 + 1, width) - lanes.origin) / 1e9
    merged["flags"] = (merged["flags"] | MERGED).astype(np.uint8)
    merged["count"] = np.bincount(np.searchsorted(cell[best], cell), count).astype(np.uint32)
    return merged
