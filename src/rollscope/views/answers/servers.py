"""Engines that take requests: each goes to the place with the fewest, first come first served.

An engine has as many places as its unit has slots, or one.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque

from .plan import Plan


class Servers:
    def __init__(self, plan: Plan, more: int) -> None:
        graph = plan.window.graph
        kept = _places(plan, more)
        self._number = {track: number for number, track in enumerate(kept)}
        self._queues: list[deque[int]] = [deque() for _ in kept]
        self._busy = [False] * len(kept)
        self._load = [0] * len(kept)  # requests of each, waiting or worked on
        self._by_load = [(0, server) for server in range(len(kept))]  # a heap; an entry with another load is old
        self._jobs, self._last = plan.jobs, plan.last_of_job
        self._recorded = {job: self._number.get(graph.track[job], 0) for job in self._last}
        self._server: dict[int, int] = {}

    def queue(self, job: int) -> int:
        """Give a request to an engine; returns which."""
        (least, first), recorded = self._least(), self._recorded[job]
        server = recorded if self._load[recorded] == least else first
        self._server[job] = server
        self._queues[server].append(job)
        self._change(server, 1)
        return server

    def _least(self) -> tuple[int, int]:
        """The fewest requests that an engine has, and the first that has so few."""
        while self._load[self._by_load[0][1]] != self._by_load[0][0]:
            heapq.heappop(self._by_load)
        return self._by_load[0]

    def _change(self, server: int, by: int) -> None:
        self._load[server] += by
        heapq.heappush(self._by_load, (self._load[server], server))

    def start(self, server: int) -> int | None:
        """The request that an engine begins now; None if it is busy or has none."""
        if self._busy[server] or not self._queues[server]:
            return None
        self._busy[server] = True
        return self._queues[server].popleft()

    def free(self, i: int) -> int | None:
        """A segment ended; the last of a request frees its engine, which is returned."""
        job = self._jobs[i]
        if self._last[job] != i:
            return None
        server = self._server[job]
        self._busy[server] = False
        self._change(server, -1)
        return server


def _places(plan: Plan, more: int) -> list[int]:
    """The tracks of all engines but the last, or with further ones as wide as the widest."""
    graph = plan.window.graph
    units: dict[str, set[int]] = defaultdict(set)
    for i in plan.jobs:
        units[graph.unit(i)].add(graph.track[i])
    names = sorted(units, key=lambda unit: min(units[unit]))
    left = names[: max(1, len(names) + more)] if more < 0 else names
    wide = max(map(len, units.values()), default=1)
    return [*sorted(track for unit in left for track in units[unit]), *range(-wide * max(0, more), 0)]
