"""Rollout workers as Ray actors, on as many nodes as Ray has.

Each actor plays in a thread of its own, so that new weights and cancelled requests reach it while
it plays. Weights are stored in Ray once and fetched by each node. Reports come back to the trainer,
which alone records: workers on many nodes are one run.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from typing import Any

import torch

from rollscope.errors import BadInput

from .player import Request
from .workers import Report, RolloutWorker, WorkerDied, WorkerSpec

HERE = "here"  # instead of an address: start Ray on this machine
CALLS = 8  # that an actor answers at once: one of them waits for reports
STOP = -1
BEGIN_SECONDS = 30.0  # that workers have to begin before we say what they wait for


class Actor:
    """One worker, in a process that Ray started."""

    def __init__(self, index: int, spec: WorkerSpec) -> None:
        torch.set_num_threads(1)
        self._worker = RolloutWorker(index, spec)
        self._worker.player.refresh, self._worker.player.cancelled = self._refresh, self._is_cancelled
        self._requests: queue.Queue[tuple[int, Request, int]] = queue.Queue()
        self._reports: queue.Queue[Report] = queue.Queue()
        self._news = threading.Condition()
        self._newest: tuple[int, Any] = (-1, None)  # the version and the weights that were published last
        self._cancelled: set[int] = set()
        self._current = STOP
        threading.Thread(target=self._serve, daemon=True).start()

    def begun(self) -> None:
        """Answered once Ray has found a CPU for this worker."""

    def publish(self, version: int, weights: Any) -> None:
        with self._news:
            if version > self._newest[0]:  # calls may overtake each other
                self._newest = version, weights
            self._news.notify_all()

    def submit(self, number: int, request: Request, version: int) -> None:
        """Play a request, with weights of this version or newer."""
        self._requests.put((number, request, version))

    def cancel(self, number: int) -> None:
        self._cancelled.add(number)

    def take(self) -> list[Report]:
        """Wait for reports, and return all there are."""
        found = [self._reports.get()]
        while not self._reports.empty():
            found.append(self._reports.get())
        return found

    def _serve(self) -> None:
        try:
            while True:
                self._current, request, version = self._requests.get()
                self._wait_for(version)
                self._refresh()
                self._worker.play(self._current, request, self._reports.put)
        except BaseException as error:
            message = str(error) if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
            self._reports.put(Report(self._worker.index, STOP, "died", message=message))

    def _wait_for(self, version: int) -> None:
        with self._news:
            self._news.wait_for(lambda: self._newest[0] >= version)

    def _refresh(self) -> None:
        """Load the newest weights, if there are newer ones."""
        with self._news:
            version, weights = self._newest
        if version > self._worker.player.version:
            self._worker.load(torch.from_numpy(weights.copy()), version)

    def _is_cancelled(self) -> bool:
        return self._current in self._cancelled


class RayActors:
    """A pool of actors; each takes one CPU of Ray's."""

    def __init__(self, spec: WorkerSpec, size: int, address: str) -> None:
        self.size, self._version = size, -1
        self._ray, self._started = _connected(address)
        actor = self._ray.remote(num_cpus=1, max_concurrency=CALLS)(Actor)
        self._actors = [actor.remote(index, spec) for index in range(size)]
        self._waiting = {one.take.remote(): index for index, one in enumerate(self._actors)}
        self._beginning, self._since = [one.begun.remote() for one in self._actors], time.monotonic()

    def publish(self, weights: torch.Tensor, version: int) -> None:
        stored = self._ray.put(weights.detach().cpu().numpy())
        self._version = version
        for actor in self._actors:
            actor.publish.remote(version, stored)

    def submit(self, worker: int, number: int, request: Request) -> None:
        self._actors[worker].submit.remote(number, request, self._version)

    def cancel(self, worker: int, number: int) -> None:
        self._actors[worker].cancel.remote(number)

    def reports(self, timeout: float) -> list[Report]:
        if self._beginning and time.monotonic() - self._since > BEGIN_SECONDS:
            self._say_who_waits()
        ready, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=timeout)
        return [report for one in ready for report in self._taken(one)]

    def _say_who_waits(self) -> None:
        """Say once if workers have not begun. The training waits: a CPU may come free."""
        _, late = self._ray.wait(self._beginning, num_returns=len(self._beginning), timeout=0)
        self._beginning = []
        if late:
            sys.stderr.write(waits(len(late), self.size, self._ray.cluster_resources().get("CPU", 0)))

    def _taken(self, ready: Any) -> list[Report]:
        worker = self._waiting.pop(ready)
        try:
            reports: list[Report] = self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            why = str(error).strip().splitlines()[0]
            raise WorkerDied(f"rollout worker {worker} on Ray ended: {why}") from error
        for report in reports:
            if report.stage == "died":
                raise WorkerDied(f"rollout worker {worker} on Ray ended: {report.message}")
        self._waiting[self._actors[worker].take.remote()] = worker
        return reports

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()


def waits(late: int, size: int, cpus: float) -> str:
    """The sentence about workers that have not begun."""
    return (
        f"rollscope: {late} of {size} rollout workers have not begun after {BEGIN_SECONDS:.0f} s. Each needs a CPU of"
        f" Ray's, which has {cpus:g} in all. The training waits until they begin: free or add CPUs, or stop it and set"
        " rollout.workers lower.\n"
    )


def _connected(address: str) -> tuple[Any, bool]:
    """Ray, and whether it was started by us."""
    try:
        import ray
    except ImportError as error:
        raise BadInput(f"rollout.ray = {address!r} needs Ray, which is not installed: pip install ray") from error
    if ray.is_initialized():
        return ray, False
    try:
        ray.init(address=None if address == HERE else address, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise BadInput(
            f"rollout.ray = {address!r}: no Ray answers there ({error}). Give its address, or {HERE!r} to start one"
        ) from error
    return ray, True
