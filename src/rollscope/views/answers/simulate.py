"""Play recorded steps again with something changed, and see when they end.

Work takes its recorded time unless a change says otherwise; a wait takes as long as what it waits
for. A wait for a batch ends when as many answers are there as it had, whichever they are. Played
without a change, the recorded end comes out. Faster work never gives a later end, because an end is
only ever a maximum, a sum or an order statistic of others.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable

from .plan import END, START, Cause, Node, Plan
from .servers import Servers

Duration = Callable[[int], int]  # segment -> nanoseconds of its work


def played(plan: Plan, duration: Duration | None = None, engines: int | None = None, ahead: int = 0) -> int:
    """When the last segment ends, with other durations, engines, or steps of work ahead.

    With `engines`, that many more, requests go to the engine with the fewest of them. Compare it
    with 0 more, which has the recorded engines under the same rule.
    """
    return _Play(plan, duration, engines, ahead).end()


class _Play:
    def __init__(self, plan: Plan, duration: Duration | None, engines: int | None, ahead: int) -> None:
        self.plan, self.graph, self.duration, self.ahead = plan, plan.window.graph, duration, ahead
        self.servers = None if engines is None else Servers(plan, engines)
        self.count, self.newest = 0, 0  # answers that are there, and when the last came
        self.missing: dict[int, int] = {}
        self.after: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(
            list
        )  # what happened -> who, how long after
        self.ready: dict[int, int] = {}
        self.started: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.waiting: list[tuple[int, int]] = []  # (answers needed, wait)
        self.listening: dict[int, list[int]] = defaultdict(list)  # segment -> waits that its end ends
        self.events: list[tuple[int, int, int]] = []  # (time, START or END, segment)
        for i in plan.order:
            self._link(i, plan.nodes[i])

    def _link(self, i: int, node: Node) -> None:
        causes = node.causes
        if self._is_request(i):  # its engine is chosen when it is queued
            causes = [cause for cause in causes if cause[0] != self.plan.lane_before.get(i)]
        if self.ahead and self.plan.jobs.get(i) == i:
            causes = [earlier for cause in causes if (earlier := self._earlier(cause)) is not None]
        self.missing[i] = len(causes)
        for other, edge, after in causes:
            self.after[other, edge].append((i, after))
        if not causes:
            early = self.ahead and self.plan.jobs.get(i) == i
            self._release(i, self.plan.window.start if early else self.graph.start[i] - node.lag)

    def _is_request(self, i: int) -> bool:
        return self.servers is not None and self.plan.jobs.get(i) == i

    def _earlier(self, cause: Cause) -> Cause | None:
        """The same place on the trainer's lane some steps before; None if that is out of view."""
        i, edge, after = cause
        graph = self.graph
        if not graph.on_trainer(i):
            return cause
        step, name = int(graph.rows.step[graph.span[i]]) - self.ahead, graph.name(i)
        same = (j for j in graph.trainer_track if graph.rows.step[graph.span[j]] == step and graph.name(j) == name)
        found = next((j for j in same if j in self.plan.nodes), None)
        return None if found is None else (found, edge, after)

    def _release(self, i: int, when: int) -> None:
        """All that a segment waited for has happened."""
        at = when + self.plan.nodes[i].lag
        if self.servers is not None and self._is_request(i):
            self._serve(self.servers, self.servers.queue(i, at), at)
        else:
            heapq.heappush(self.events, (at, START, i))

    def _serve(self, servers: Servers, server: int, now: int) -> None:
        if begun := servers.start(server, now):
            heapq.heappush(self.events, (begun[1], START, begun[0]))

    def end(self) -> int:
        while self.events:
            now, edge, i = heapq.heappop(self.events)
            if edge == START:
                self._start(i, now)
            else:
                self._finish(i, now)
        return self.ended.get(self.plan.window.last, self.plan.window.end)

    def _start(self, i: int, now: int) -> None:
        node = self.plan.nodes[i]
        self.started[i] = now
        self._tell(i, START, now)
        if node.needs is not None and self.count < node.needs:
            heapq.heappush(self.waiting, (node.needs, i))
        elif node.awaits and node.awaits[0] not in self.ended:
            self.listening[node.awaits[0]].append(i)
        else:
            work = node.work if self.duration is None or self.graph.wait[i] else self.duration(i)
            heapq.heappush(self.events, (now + work + node.delay, END, i))

    def _finish(self, i: int, now: int) -> None:
        self.ended[i] = now
        for wait in self.listening.pop(i, []):
            self._end_wait(wait, now)
        if answers := self.plan.nodes[i].answers:
            self.count, self.newest = self.count + answers, max(self.newest, now)
            while self.waiting and self.waiting[0][0] <= self.count:
                self._end_wait(heapq.heappop(self.waiting)[1], self.newest)
        self._tell(i, END, now)
        if self.servers is not None and i in self.plan.jobs and (freed := self.servers.free(i)) is not None:
            self._serve(self.servers, freed, now)

    def _end_wait(self, wait: int, when: int) -> None:
        end = max(when, self.started[wait]) + self.plan.nodes[wait].delay
        heapq.heappush(self.events, (end, END, wait))

    def _tell(self, i: int, edge: int, now: int) -> None:
        for other, after in self.after.pop((i, edge), ()):
            self.ready[other] = max(self.ready.get(other, now + after), now + after)
            self.missing[other] -= 1
            if not self.missing[other]:
                self._release(other, self.ready[other])
