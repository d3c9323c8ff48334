"""Lanes as tracks of segments: stretches with one name, the innermost span's, that never overlap.

Spans of a lane that overlap without one inside the other go to further tracks of that lane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rollscope.views.time.chrome import tracks as fitting_tracks

from .rows import Ints, Rows


@dataclass(slots=True)
class Segments:
    """Sorted by track and start."""

    span: Ints  # index into the rows
    start: Ints
    end: Ints
    track: Ints  # index into `lanes`
    lanes: list[int]  # the lane code of each track


def tracks(rows: Rows) -> tuple[Ints, list[int]]:
    """The track of each span, and the lane of each track."""
    order = _by_number(rows.lane)
    lane, start, end = rows.lane[order], rows.start[order], rows.end[order]
    number = np.zeros(len(rows), np.int64)
    for code in _overlapping(lane, start, end).tolist():
        of_lane = np.flatnonzero(rows.lane == code)
        number[of_lane] = fitting_tracks([""] * len(of_lane), rows.start[of_lane], rows.end[of_lane])
    wide = int(number.max(initial=0)) + 1
    key = rows.lane * wide + number
    is_present = np.bincount(key) > 0 if len(key) else np.zeros(0, bool)
    track = (np.cumsum(is_present) - 1)[key] if len(key) else key
    return track, (np.flatnonzero(is_present) // wide).tolist()


def segments(rows: Rows) -> Segments:
    """Every span's stretches that no inner span covers."""
    track, lanes = tracks(rows)
    order = _by_number(track)
    t, start, end = track[order], rows.start[order], rows.end[order]
    nested = _overlapping(t, start, end)
    has_inner = np.zeros(len(lanes) + 1, bool)
    has_inner[nested] = True
    plain = ~has_inner[t]
    parts = [(order[plain], start[plain], end[plain], t[plain])]
    for code in nested.tolist():
        lo, hi = np.searchsorted(t, (code, code + 1))
        of_track = order[lo:hi][np.lexsort((-end[lo:hi], start[lo:hi]))]
        spans, low, high = _innermost(of_track.tolist(), rows.start[of_track].tolist(), rows.end[of_track].tolist())
        parts.append((np.array(spans, np.int64), np.array(low), np.array(high), np.full(len(spans), code)))
    return Segments(*_sorted(*(np.concatenate([part[i] for part in parts]).astype(np.int64) for i in range(4))), lanes)


def _sorted(span: Ints, start: Ints, end: Ints, track: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """By track and start. Those of a track are so already, but for empty ones at one moment."""
    order = _by_number(track)
    if ((np.diff(track[order]) == 0) & (np.diff(start[order]) == 0)).any():
        order = np.lexsort((end, start, track))
    return span[order], start[order], end[order], track[order]


def _by_number(numbers: Ints) -> Ints:
    """The order by small numbers, stable; a sort of 16 bits takes no comparisons."""
    small = numbers.astype(np.uint16) if int(numbers.max(initial=0)) < 2**16 else numbers
    return np.argsort(small, kind="stable")


def _overlapping(number: Ints, start: Ints, end: Ints) -> Ints:
    """Numbers, of spans sorted by number and start, that have spans which overlap."""
    hit = number[1:][(number[1:] == number[:-1]) & (start[1:] < end[:-1])]
    return np.flatnonzero(np.bincount(hit)) if len(hit) else hit


def _innermost(spans: list[int], starts: list[int], ends: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Cut nested spans, sorted by start and then longest first, into what each shows on top."""
    cut: tuple[list[int], list[int], list[int]] = ([], [], [])
    open_: list[tuple[int, int]] = []  # span and end, innermost last
    at = 0

    def show(span: int, lo: int, hi: int, even_empty: bool = False) -> None:
        if hi > lo or even_empty:
            for column, value in zip(cut, (span, lo, hi), strict=True):
                column.append(value)

    for span, start, end in zip(spans, starts, ends, strict=True):
        while open_ and open_[-1][1] <= start:
            inner, until = open_.pop()
            show(inner, at, until)
            at = max(at, until)
        if open_:
            show(open_[-1][0], at, start)
        at = start
        if end == start:
            show(span, start, end, even_empty=True)
        else:
            open_.append((span, end))
    while open_:
        inner, until = open_.pop()
        show(inner, at, until)
        at = max(at, until)
    return cut
