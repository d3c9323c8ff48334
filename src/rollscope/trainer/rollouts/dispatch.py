"""Keep the workers busy: choose the next tasks, submit requests, cancel late ones."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from rollscope.trainer.config import Config
from rollscope.trainer.environment import Task
from rollscope.trainer.environments.mix import TaskOrder

from .player import Request
from .workers import Pool


class Counts(Protocol):
    """The counters of the orchestrator that dispatching reads and advances."""

    version: int
    requests: int
    groups: int


@dataclass(slots=True)
class Flight:
    """A request that a worker is busy with."""

    worker: int
    groups: int
    version: int
    since: float
    cancelled: bool = False


class Dispatcher:
    def __init__(self, config: Config, pool: Pool, order: TaskOrder, counts: Counts) -> None:
        self.config, self.pool, self.order, self.counts = config, pool, order, counts
        self.flights: dict[int, Flight] = {}

    def feed(self, step: int, buffered: int) -> None:
        """Submit requests up to `max_async` steps ahead.

        Synchronous training requests exactly the groups that are missing.
        """
        rollout = self.config.rollout
        size = rollout.groups_per_request or -(-rollout.groups_per_step // self.pool.size)
        allowed = rollout.groups_per_step * (1 + (rollout.max_async if rollout.workers else 0))
        if not rollout.workers:
            size = min(size, rollout.groups_per_step - buffered)
        while self.in_flight + buffered + size <= allowed or not self.in_flight:
            self._submit(step, size)

    @property
    def in_flight(self) -> int:
        """Groups that workers are busy with."""
        return sum(flight.groups for flight in self.flights.values())

    def played(self) -> dict[int, int]:
        """Worker -> the request that it works on: its oldest one."""
        return {flight.worker: number for number, flight in reversed(self.flights.items())}

    def _submit(self, step: int, size: int) -> None:
        """Send a request of `size` groups to the worker with the fewest requests."""
        loads = [sum(flight.worker == w for flight in self.flights.values()) for w in range(self.pool.size)]
        worker = loads.index(min(loads))
        self.counts.requests += 1
        number, rollout = self.counts.requests, self.config.rollout
        seed = 7919 * number + self.config.run.seed
        groups = [self._next_group() for _ in range(size)]
        most, now = rollout.max_completion_tokens, time.time_ns()
        request = Request(groups, rollout.repeats, most, rollout.temperature, seed, step, now)
        self.flights[number] = Flight(worker, size, self.counts.version, time.perf_counter())
        self.pool.submit(worker, number, request)

    def _next_group(self) -> tuple[str, Task]:
        """The next task, with a name for its group."""
        self.counts.groups += 1
        return f"g{self.counts.groups}", self.order.next()

    def resume(self, counts: Counts) -> None:
        """Continue where a run with these counts stopped."""
        self.counts = counts
        self.order.skip(counts.groups)

    def finished(self, number: int) -> None:
        self.flights.pop(number)

    def cancel_late(self) -> None:
        """Cancel requests that take too long or whose groups would be discarded as stale."""
        rollout = self.config.rollout
        for number, flight in self.flights.items():
            slow = rollout.straggler_seconds and time.perf_counter() - flight.since > rollout.straggler_seconds
            stale = self.counts.version - flight.version > rollout.max_off_policy_steps + rollout.max_async
            if (slow or stale) and not flight.cancelled:
                flight.cancelled = True
                self.pool.cancel(flight.worker, number)
