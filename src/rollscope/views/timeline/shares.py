"""How each unit spent a stretch of time: busy, waiting (for what), idle; shares that add to 1.

A unit with slots is busy as far as its slots are. While a slot has nothing, it waits for what its
unit does instead (loading weights, grading), for new prompts until the next work was queued, and is
idle otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .graph import Graph
from .rows import NONE, Rows
from .segments import segments
from .waits import REASONS, Wait
from .window import Window

Stretch = tuple[int, int]


@dataclass(slots=True)
class Share:
    unit: str
    lanes: int  # tracks it is the mean of
    total: int  # nanoseconds of all of them
    busy: int = 0
    waiting: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def json(self) -> dict[str, object]:
        waited = sum(self.waiting.values())
        busy, waiting = self.busy / self.total, waited / self.total
        reasons = sorted(self.waiting.items(), key=lambda item: -item[1])
        return {
            "lane": self.unit,
            "busy": busy,
            "waiting": waiting,
            "idle": (self.total - self.busy - waited) / self.total,
            "waiting_for": {reason: ns / self.total for reason, ns in reasons if ns},
        }


def shares(window: Window, waits: Sequence[Wait]) -> tuple[list[Share], list[Wait]]:
    """The share of each unit, and the waits of units other than the trainer's."""
    graph, lo, hi = window.graph, window.start, window.end
    own = _by_unit(graph, lo, hi)
    slots = _slots(graph.detail, lo, hi)
    trainers = {graph.unit(i) for i in range(len(graph)) if graph.on_trainer(i)}
    found, others = [], []
    for unit, tracks in own.items():
        if unit in trainers:
            found.append(_trainer(unit, tracks, graph, window, waits))
            continue
        share, of_unit = _engine(unit, tracks, slots.get(unit), graph, window)
        found.append(share)
        others += of_unit
    return sorted(found, key=lambda share: (share.unit not in trainers, _natural(share.unit))), others


def _natural(unit: str) -> tuple[str, int, str]:
    word, _, number = unit.partition("/")
    return word, int(number) if number.isdecimal() else 0, unit


def _by_unit(graph: Graph, lo: int, hi: int) -> dict[str, dict[int, list[int]]]:
    """Unit -> track -> its segments within the stretch."""
    units: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in range(len(graph)):
        if graph.end[i] > lo and graph.start[i] < hi:
            units[graph.unit(i)][graph.track[i]].append(i)
    return units


def _slots(detail: Rows, lo: int, hi: int) -> dict[str, list[list[Stretch]]]:
    """Unit -> for each of its slots the stretches in which it worked."""
    found: dict[str, dict[int, list[Stretch]]] = defaultdict(lambda: defaultdict(list))
    if not len(detail):
        return {}
    cut, units = segments(detail), detail.units()
    for track, start, end in zip(cut.track.tolist(), cut.start.tolist(), cut.end.tolist(), strict=True):
        if end > lo and start < hi:
            found[units[cut.lanes[track]]][track].append((max(start, lo), min(end, hi)))
    return {unit: list(tracks.values()) for unit, tracks in found.items()}


def _trainer(unit: str, tracks: dict[int, list[int]], graph: Graph, window: Window, waits: Sequence[Wait]) -> Share:
    """A trainer's unit: its wait spans are waiting, by the names that `waits` gave them."""
    share = Share(unit, len(tracks), window.wall * len(tracks))
    lanes = {graph.lane(own[0]) for own in tracks.values()}
    for own in tracks.values():
        share.busy += sum(end - start for start, end in _clipped(graph, own, window, wait=False))
    for wait in waits:
        if wait.lane in lanes:
            share.waiting[wait.reason] += wait.ns
    return share


def _clipped(graph: Graph, own: list[int], window: Window, wait: bool) -> Iterator[Stretch]:
    for i in own:
        if graph.wait[i] == wait:
            yield max(graph.start[i], window.start), min(graph.end[i], window.end)


def _engine(
    unit: str, tracks: dict[int, list[int]], slots: list[list[Stretch]] | None, graph: Graph, window: Window
) -> tuple[Share, list[Wait]]:
    busy = slots or [list(_clipped(graph, own, window, wait=False)) for own in tracks.values()]
    reasons = _reasons(tracks, graph, window, bool(slots))
    share, waits = Share(unit, len(busy), window.wall * len(busy)), []
    totals: dict[str, int] = defaultdict(int)
    first: dict[str, int] = {}
    for stretches in busy:
        share.busy += sum(end - start for start, end in stretches)
        for lo, hi in gaps(sorted(stretches), window.start, window.end):
            for reason, ns, start in _within(reasons, lo, hi):
                share.waiting[reason] += ns
                totals[reason] += ns
                first.setdefault(reason, start)
    for reason, ns in totals.items():
        waits.append(Wait(unit, reason, None, None, first[reason], ns // len(busy)))
    return share, waits


def _reasons(tracks: dict[int, list[int]], graph: Graph, window: Window, has_slots: bool) -> list[tuple[int, int, str]]:
    """Stretches in which a unit's slots could not work, and why; they do not overlap."""
    found: list[tuple[int, int, str]] = []
    for own in tracks.values():
        for i in own:
            reason = REASONS.get(graph.phase(i))
            if graph.wait[i]:
                found.append((graph.start[i], graph.end[i], reason or graph.name(i)))
            elif has_slots and reason:
                found.append((graph.start[i], graph.end[i], reason))
        found += _prompts(graph, own, window)
    return _apart(found)


def _prompts(graph: Graph, own: list[int], window: Window) -> list[tuple[int, int, str]]:
    """Gaps of a track until the next work was queued: it had nothing to do."""
    found, at = [], window.start
    following = graph.after(own[-1])
    for i in [*own, *([] if following is None else [following])]:
        queued = graph.queued(i)
        if queued != NONE and graph.start[i] > at and queued > at:
            found.append((at, min(queued, graph.start[i], window.end), "prompts"))
        at = max(at, graph.end[i])
    return found


def _apart(stretches: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    found, at = [], -(2**63)
    for start, end, reason in sorted(stretches):
        start = max(start, at)
        if end > start:
            found.append((start, end, reason))
            at = end
    return found


def gaps(stretches: Sequence[Stretch], lo: int, hi: int) -> Iterator[Stretch]:
    """What sorted stretches leave free between two moments."""
    at = lo
    for start, end in stretches:
        if start > at:
            yield at, min(start, hi)
        at = max(at, end)
    if at < hi:
        yield at, hi


def _within(reasons: list[tuple[int, int, str]], lo: int, hi: int) -> Iterator[tuple[str, int, int]]:
    for start, end, reason in reasons:
        if end > lo and start < hi:
            yield reason, min(end, hi) - max(start, lo), max(start, lo)


def median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else float("nan")
