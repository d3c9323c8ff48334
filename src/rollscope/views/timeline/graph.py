"""What had to end before what, among the segments of some steps.

A segment waits for the one before it on its track, and the first of a span also for the span's
causes, for the span before it of the same sample, for the weights it runs with, and for the moment
it was queued. The trainer's first work after a wait joins a batch: it waits for the last span of
every sample in it. Where a run says nothing of this, a gap or a wait waits for what ended last in
it on another unit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from .phases import Phase, phase
from .rows import NONE, Mask, Rows
from .segments import segments
from .slots import Slots

Point = tuple[int, int]  # when, and the segment that is there; the end of it, or a moment in it
SHORT_NS = 1_000_000  # a gap that needs no explanation


@dataclass(slots=True)
class Batches:
    """Which samples each step trained on, where samples say so."""

    step_of: Mapping[str, int]


class Graph:
    """Segments without the slots of units that have spans of their own, as lists."""

    def __init__(self, rows: Rows, batches: Batches) -> None:
        detail = rows.is_detail()
        self.detail = rows.only(detail)
        self.slots = Slots(self.detail)
        self.rows = rows = rows.only(~detail)
        self.batches = batches
        found = segments(rows)
        self.span: list[int] = found.span.tolist()
        self.start: list[int] = found.start.tolist()
        self.end: list[int] = found.end.tolist()
        self.track: list[int] = found.track.tolist()
        self.wait: list[bool] = rows.wait[found.span].tolist()
        self._unit_of_lane = units = rows.units()
        self._lane_of_track = [rows.lanes[lane] for lane in found.lanes]
        self._unit_of_track = [units[lane] for lane in found.lanes]
        self.phases: list[Phase] = [phase(name) for name in rows.names]
        self._trainer: list[bool] = rows.on_trainer().tolist()
        self._in_eval: list[bool] = _within_evaluations(rows, self.phases).tolist()
        self._name: list[int] = rows.name.tolist()
        self._sample: list[int] = rows.sample.tolist()
        self._version: list[int] = rows.version.tolist()
        self._queued: list[int] = rows.queued.tolist()
        self._step: list[int] = rows.step.tolist()
        self._start: list[int] = rows.start.tolist()
        self._end: list[int] = rows.end.tolist()
        self._batches: dict[int, list[int]] = {}
        self._asked: dict[int, list[Point]] = {}  # moment -> what may have made the trainer queue work then

    def __len__(self) -> int:
        return len(self.span)

    def lane(self, i: int) -> str:
        return self._lane_of_track[self.track[i]]

    def unit(self, i: int) -> str:
        return self._unit_of_track[self.track[i]]

    def name(self, i: int) -> str:
        return self.rows.names[self._name[self.span[i]]]

    def phase(self, i: int) -> Phase:
        """The kind of its work; all work within an evaluation of the trainer is evaluation."""
        return "eval" if self._in_eval[self.span[i]] else self.phases[self._name[self.span[i]]]

    def sample(self, i: int) -> str | None:
        code = self._sample[self.span[i]]
        return None if code == NONE else self.rows.samples[code]

    def queued(self, i: int) -> int:
        """When the work of its span was queued; -1 if that is not known."""
        return self._queued[self.span[i]]

    def step(self, i: int) -> int:
        return self._step[self.span[i]]

    def on_trainer(self, i: int) -> bool:
        return self._trainer[self.span[i]]

    def before(self, i: int) -> Point | None:
        """The segment before it on its track."""
        return (self.end[i - 1], i - 1) if i and self.track[i - 1] == self.track[i] else None

    def after(self, i: int) -> int | None:
        """The segment after it on its track."""
        return i + 1 if i + 1 < len(self) and self.track[i + 1] == self.track[i] else None

    @cached_property
    def firsts(self) -> list[int]:
        """The first segment of each span; -1 where inner spans cover all of it."""
        return self._ends(range(len(self) - 1, -1, -1))

    @cached_property
    def lasts(self) -> list[int]:
        """The last segment of each span."""
        return self._ends(range(len(self)))

    def _ends(self, order: range) -> list[int]:
        found = [NONE] * len(self.rows)
        for i in order:
            found[self.span[i]] = i
        return found

    @cached_property
    def _keys(self) -> dict[str, int]:
        return {key: i for i, key in enumerate(self.rows.keys())}

    @cached_property
    def _of_sample(self) -> dict[int, list[int]]:
        """The spans of each sample, in the order of their ends."""
        spans: dict[int, list[int]] = defaultdict(list)
        order = np.argsort(self.rows.end, kind="stable")
        for i in order[self.rows.sample[order] != NONE].tolist():
            spans[self._sample[i]].append(i)
        return spans

    @cached_property
    def _syncs(self) -> dict[tuple[str, int], list[int]]:
        """The weight updates of each unit (`trainer` for all of the trainer's) and version."""
        spans: dict[tuple[str, int], list[int]] = defaultdict(list)
        rows = self.rows
        for i in np.flatnonzero(rows.version != NONE).tolist():
            if self.phases[rows.name[i]] == "sync":
                unit = "trainer" if self._trainer[i] else self._unit_of_lane[rows.lane[i]]
                spans[unit, int(rows.version[i])].append(i)
        return spans

    @cached_property
    def _by_end(self) -> tuple[list[int], list[int]]:
        """Ends of work segments in order, and the segments."""
        work = [i for i in range(len(self)) if not self.wait[i]]
        work.sort(key=lambda i: self.end[i])
        return [self.end[i] for i in work], work

    @cached_property
    def trainer_track(self) -> list[int]:
        """The segments of the trainer's first track."""
        track = next((self.track[i] for i in range(len(self)) if self.on_trainer(i)), None)
        return [i for i in range(len(self)) if self.track[i] == track]

    @cached_property
    def _trainer_starts(self) -> list[int]:
        return [self.start[i] for i in self.trainer_track]

    # ---- what a segment waited for

    def causes(self, i: int) -> list[Point]:
        """What a segment waited for on other tracks, each not later than its start.

        If nothing says so and there is a gap before it, it is what ended last in the gap.
        """
        x = self.span[i]
        if self.firsts[x] != i:
            return []
        at, spans = self.start[i], self._span_causes(x)
        points = [self._point(c, at) for c in spans if c != x]
        found = [point for point in points if point is not None and self.track[point[1]] != self.track[i]]
        queued = self._queued[x]
        if NONE < queued <= at and (submitted := self._submitted(i, queued)) is not None:
            found.append(submitted)
        before = self.before(i)
        latest = max([point[0] for point in found] + ([before[0]] if before else []), default=None)
        if not found and (latest is None or at - latest > SHORT_NS):
            found += [point] if (point := self.awaited(i, latest or 0, at)) is not None else []
        return found

    def _submitted(self, i: int, queued: int) -> Point | None:
        """Where the trainer was when it queued some work, or which answer made it do so."""
        if queued not in self._asked:
            self._asked[queued] = list(islice(self._reasons_to_ask(queued), 2))
        return next((point for point in self._asked[queued] if point[1] != i), None)

    def _reasons_to_ask(self, queued: int) -> Iterator[Point]:
        """Answers that came while the trainer waited, the last first; then where it was."""
        held = self._trainer_at(queued)
        if held is None:
            return
        if self.wait[held]:
            ended = self._ended_within(held, self.start[held], queued)
            yield from (point for point in ended if self.phase(point[1]) != "sync")
        yield queued, held

    def _span_causes(self, x: int) -> list[int]:
        spans = self._keyed(x)
        if self._sample[x] != NONE:
            own = self._of_sample[self._sample[x]]
            before = [y for y in own[: own.index(x)] if self._end[y] <= self._start[x] + SHORT_NS]
            spans += before[-1:]
        if self._version[x] != NONE and not self._trainer[x]:
            is_sync = self.phases[self._name[x]] == "sync"
            unit = "trainer" if is_sync else self._unit_of_lane[self.rows.lane[x]]
            spans += self._syncs.get((unit, self._version[x]), [])
        return spans

    def _point(self, span: int, at: int) -> Point | None:
        """Where a cause let its effect go: its end, or its start if it was still running."""
        last, first = self.lasts[span], self.firsts[span]
        if last == NONE:
            return None
        if self.end[last] <= at + SHORT_NS:
            return min(self.end[last], at), last
        return (self.start[first], first) if self.start[first] <= at else None

    def _trainer_at(self, when: int) -> int | None:
        """The trainer's segment at a moment, or the last before it."""
        position = bisect_right(self._trainer_starts, when) - 1
        return self.trainer_track[position] if position >= 0 else None

    def batch(self, wait: int) -> list[int]:
        """The last segments of what the batch after a wait is made of."""
        if wait not in self._batches:
            self._batches[wait] = self._batch_after(wait)
        return self._batches[wait]

    def _batch_after(self, wait: int) -> list[int]:
        following = self.after(wait)
        found: list[int] = [*self._keyed(self.span[wait])]
        while following is not None and not found:
            if not self.wait[following]:
                found = self._keyed(self.span[following]) or self._trained(self.step(following))
                if self.phase(following) in ("train", "sync") or found:
                    break
            following = self.after(following)
        latest = self.end[wait]
        return [self.lasts[x] for x in found if self.lasts[x] != NONE and self.end[self.lasts[x]] <= latest + SHORT_NS]

    def joins(self, wait: int) -> bool:
        """Is a wait the last before its batch is trained on? Others wait for one answer of it."""
        following = self.after(wait)
        while following is not None and self.phase(following) != "train" and not self._keyed(self.span[following]):
            if self.wait[following]:
                return False
            following = self.after(following)
        return True

    def _keyed(self, span: int) -> list[int]:
        if self.rows.causes[span] is None:
            return []
        return [self._keys[key] for key in self.rows.causes_of(span) if key in self._keys]

    def _trained(self, step: int) -> list[int]:
        """The last span of each sample that a step trained on."""
        if not self.batches.step_of:
            return []
        rows = self.rows
        return [
            spans[-1] for code, spans in self._of_sample.items() if self.batches.step_of.get(rows.samples[code]) == step
        ]

    def awaited(self, i: int, lo: int, hi: int) -> Point | None:
        """The work on another unit that ended last within a stretch."""
        return next(self._ended_within(i, lo, hi), None)

    def _ended_within(self, i: int, lo: int, hi: int) -> Iterator[Point]:
        """Work on other units that ended within a stretch, the last first."""
        ends, order = self._by_end
        for position in range(bisect_right(ends, hi) - 1, -1, -1):
            if ends[position] <= lo:
                return
            other = order[position]
            if self.unit(other) != self.unit(i) and self.end[other] > self.start[other]:
                yield ends[position], other

    def answers(self, member: int) -> list[int]:
        """When each sample of a request was generated, by its last segment."""
        first = member
        while self.queued(first) == NONE and (before := self.before(first)) is not None:
            first = before[1]
        lo, hi = self.start[first], self.end[member]
        return self.slots.ends(self.unit(member), lo, hi) or [hi]

    def sample_within(self, i: int, lo: int, hi: int) -> tuple[str, str] | None:
        """Lane and sample of the slot that worked longest, within a segment of its unit."""
        return self.slots.longest(self.unit(i), lo, hi)


def _within_evaluations(rows: Rows, phases: list[Phase]) -> Mask:
    is_eval = np.array([phase == "eval" for phase in phases] or [False])[rows.name]
    inside = np.zeros(len(rows), bool)
    for x in np.flatnonzero(is_eval & rows.on_trainer()).tolist():
        inside |= (rows.lane == rows.lane[x]) & (rows.start >= rows.start[x]) & (rows.end <= rows.end[x])
    return inside & ~rows.wait
