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
    order = np.lexsort((-rows.end, rows.start, rows.lane))
    lane, start, end = rows.lane[order], rows.start[order], rows.end[order]
    crowded = np.unique(lane[1:][(lane[1:] == lane[:-1]) & (start[1:] < end[:-1])])
    number = np.zeros(len(rows), np.int64)
    for code in crowded.tolist():
        of_lane = np.flatnonzero(rows.lane == code)
        number[of_lane] = fitting_tracks([""] * len(of_lane), rows.start[of_lane], rows.end[of_lane])
    wide = int(number.max(initial=0)) + 1
    present, track = np.unique(rows.lane * wide + number, return_inverse=True)
    return track.astype(np.int64), (present // wide).tolist()


def segments(rows: Rows) -> Segments:
    """Every span's stretches that no inner span covers."""
    track, lanes = tracks(rows)
    order = np.lexsort((-rows.end, rows.start, track))
    t, start, end = track[order], rows.start[order], rows.end[order]
    nested = np.unique(t[1:][(t[1:] == t[:-1]) & (start[1:] < end[:-1])])
    plain = ~np.isin(t, nested)
    parts = [(order[plain], start[plain], end[plain], t[plain])]
    for code in nested.tolist():
        of_track = order[t == code]
        spans, lo, hi = _innermost(of_track.tolist(), rows.start[of_track].tolist(), rows.end[of_track].tolist())
        parts.append((np.array(spans, np.int64), np.array(lo), np.array(hi), np.full(len(spans), code)))
    span, low, high, which = (np.concatenate([part[i] for part in parts]).astype(np.int64) for i in range(4))
    by_track = np.lexsort((high, low, which))
    return Segments(span[by_track], low[by_track], high[by_track], which[by_track], lanes)


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
