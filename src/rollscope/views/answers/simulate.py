"""Play recorded steps again with something changed, and see when they end.

Work takes its recorded time unless a change says otherwise; a wait takes as long as what it waits
for. A wait for a batch ends when as many answers are there as it had, whichever they are. Played
without a change, the recorded end comes out. Faster work never gives a later end, because an end is
only ever a maximum, a sum or an order statistic of others.

What only adds and compares is worked out at once; answers, waits and engines, for which it matters
who comes first, are events in the order of time.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence

from .links import Told, links
from .plan import END, START, Plan
from .servers import Servers

Duration = Callable[[int], int]  # segment -> nanoseconds of its work
NEVER = -(2**63)
QUEUED = 2  # beside START and END: a request comes to the engines


def played(plan: Plan, duration: Duration | None = None, engines: int | None = None, ahead: int = 0) -> int:
    """When the last segment ends, with other durations, engines, or steps of work ahead.

    With `engines`, that many more, requests go to the engine with the fewest of them. Compare it
    with 0 more, which has the recorded engines under the same rule.
    """
    return _Play(plan, duration, engines, ahead).end()


class _Play:
    def __init__(self, plan: Plan, duration: Duration | None, engines: int | None, ahead: int) -> None:
        self.plan, self.nodes, self.duration = plan, plan.nodes, duration
        self.is_wait, self.tracks = plan.window.graph.wait, plan.window.graph.track
        self.servers = None if engines is None else Servers(plan, engines)
        self.jobs = plan.jobs if self.servers is not None else {}
        self.links = links(plan, engines is not None, ahead)
        self.missing = self.links.missing.copy()
        self.count: dict[int, int] = defaultdict(int)  # track -> answers for it that are there
        self.newest: dict[int, int] = defaultdict(lambda: NEVER)  # and when the last of them came
        self.ready: dict[int, int] = {}
        self.started: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)  # track -> (answers needed, wait)
        self.listening: dict[int, list[int]] = defaultdict(list)  # segment -> waits that its end ends
        self.events: list[tuple[int, int, int]] = []  # (time, START, END or QUEUED, segment)
        self.begun: list[tuple[int, int]] = []  # segments that begin, and when, to be worked out
        self._happens = (self._start, self._finish, self._queue)

    def end(self) -> int:
        for i, when in self.links.free:
            self._release(i, when)
        begun, events = self.begun, self.events
        while begun or events:
            if begun:
                self._begin(*begun.pop())
            else:
                now, edge, i = heapq.heappop(events)
                self._happens[edge](i, now)
        return self.ended.get(self.plan.window.last, self.plan.window.end)

    def _release(self, i: int, when: int) -> None:
        """All that a segment waited for has happened."""
        if self.jobs.get(i) == i:
            heapq.heappush(self.events, (when, QUEUED, i))
        else:
            self.begun.append((i, when + self.nodes[i].lag))

    def _queue(self, i: int, now: int) -> None:
        assert self.servers is not None
        self._serve(self.servers, self.servers.queue(i), now)

    def _serve(self, servers: Servers, server: int, now: int) -> None:
        if (job := servers.start(server)) is not None:
            self.begun.append((job, now + self.nodes[job].lag))

    def _begin(self, i: int, at: int) -> None:
        """Begin a segment. It is an event only where it matters what else has happened by then."""
        if told := self.links.after[START].get(i):
            self._tell(told, at)
        if self.is_wait[i]:
            heapq.heappush(self.events, (at, START, i))
            return
        node = self.nodes[i]
        end = at + (node.work if self.duration is None else self.duration(i)) + node.delay
        if node.answers or i in self.jobs:
            heapq.heappush(self.events, (end, END, i))
        else:
            self._finish(i, end)

    def _start(self, i: int, now: int) -> None:
        """Begin a wait."""
        node, track = self.nodes[i], self.tracks[i]
        self.started[i] = now
        if node.needs is not None:
            if self.count[track] < node.needs:
                heapq.heappush(self.waiting[track], (node.needs, i))
            else:
                self._end_wait(i, now)
        elif node.awaits and node.awaits[0] not in self.ended:
            self.listening[node.awaits[0]].append(i)
        else:
            self._end_wait(i, self.ended[node.awaits[0]] if node.awaits else now + node.work)

    def _finish(self, i: int, now: int) -> None:
        self.ended[i] = now
        if i in self.listening:
            for wait in self.listening.pop(i):
                self._end_wait(wait, now)
        for track in self.nodes[i].answers:
            self._answer(track, now)
        if told := self.links.after[END].get(i):
            self._tell(told, now)
        if i in self.jobs and self.servers is not None and (freed := self.servers.free(i)) is not None:
            self._serve(self.servers, freed, now)

    def _answer(self, track: int, now: int) -> None:
        """One more answer is there for a track that may wait for it."""
        self.count[track] += 1
        self.newest[track] = max(self.newest[track], now)
        waiting = self.waiting[track]
        while waiting and waiting[0][0] <= self.count[track]:
            self._end_wait(heapq.heappop(waiting)[1], self.newest[track])

    def _end_wait(self, wait: int, when: int) -> None:
        self._finish_at(wait, max(when, self.started[wait]) + self.nodes[wait].delay)

    def _finish_at(self, i: int, end: int) -> None:
        if self.nodes[i].answers:
            heapq.heappush(self.events, (end, END, i))
        else:
            self._finish(i, end)

    def _tell(self, told: Sequence[Told], now: int) -> None:
        missing, known = self.missing, self.ready
        for other, after in told:
            ready = now + after
            if known.get(other, NEVER) > ready:
                ready = known[other]
            missing[other] -= 1
            if missing[other]:
                known[other] = ready
            else:
                self._release(other, ready)
