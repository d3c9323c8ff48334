"""Engines that take requests: each goes to the engine with the fewest, first come first served."""

from __future__ import annotations

from .plan import Plan


class Servers:
    def __init__(self, plan: Plan, more: int) -> None:
        graph = plan.window.graph
        tracks = sorted({graph.track[i] for i in plan.jobs})
        kept = tracks[: max(1, len(tracks) + more)] if more < 0 else [*tracks, *range(-more, 0)]
        self._queues: dict[int, list[tuple[int, int]]] = {track: [] for track in kept}
        self._busy: dict[int, int | None] = dict.fromkeys(kept)  # the request it works on
        self._jobs = plan.jobs
        self._last: dict[int, int] = {}  # request -> its last segment
        for i, job in sorted(plan.jobs.items(), key=lambda item: graph.start[item[0]]):
            self._last[job] = i
        self._recorded = {job: graph.track[job] for job in self._last}
        self._server: dict[int, int] = {}

    def queue(self, job: int, at: int) -> None:
        load = {server: len(queue) + (self._busy[server] is not None) for server, queue in self._queues.items()}
        least, recorded = min(load.values()), self._recorded[job]
        server = recorded if load.get(recorded) == least else next(s for s, n in load.items() if n == least)
        self._server[job] = server
        self._queues[server].append((at, job))

    def starts(self, now: int) -> list[tuple[int, int]]:
        """Requests that begin now, and when."""
        begun = []
        for server, queue in self._queues.items():
            if self._busy[server] is None and queue:
                at, job = queue.pop(0)
                self._busy[server] = job
                begun.append((job, max(at, now)))
        return begun

    def free(self, i: int) -> None:
        """A segment ended; the last of a request frees its engine."""
        job = self._jobs[i]
        if self._last[job] == i:
            self._busy[self._server[job]] = None
