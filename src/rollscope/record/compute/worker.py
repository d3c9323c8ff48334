"""A thread for jobs too slow for the caller and for the drain: metrics, evaluations, git."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rollscope.record.loss import ODD, Losses, one_line
from rollscope.record.thread import started

BOUND = 512 << 20  # bytes of jobs that may wait; one job always may


class Worker:
    """Runs jobs one after the other.

    `put` never blocks: a job that does not fit is counted as lost.
    """

    def __init__(self, losses: Losses, name: str = "rollscope-compute") -> None:
        self._losses = losses
        self._name = name
        self._jobs: deque[tuple[str, Callable[[], Any], int]] = deque()
        self._waiting = 0  # bytes
        self._wake = threading.Condition()
        self._busy = False
        self.chore: Callable[[], float | None] = lambda: None  # run after jobs; says when to run again
        self._thread: threading.Thread | None = None

    def put(self, what: str, job: Callable[[], Any], size: int = 0) -> bool:
        """Queue a job that holds `size` bytes. False, and one lost `what`, if it does not fit."""
        with self._wake:
            if size and self._jobs and self._waiting + size > BOUND:
                self._losses.count(what, f"{BOUND >> 20} MB were waiting to be computed already")
                return False
            self._waiting += size
            self._jobs.append((what, job, size))
            self._busy = self._runs()
            self._wake.notify()
        return True

    def _runs(self) -> bool:
        """Start the thread if there is none. False if none can be started: the jobs wait."""
        if self._thread is None:
            self._thread = started(self._work, self._name, self._losses)
        return self._thread is not None

    def after(self, job: Callable[[], Any]) -> None:
        """Run a job after those that wait. If none waits, run it here and now."""
        with self._wake:
            idle = not self._jobs and not self._busy
        if idle:
            job()
        else:
            self.put("calls", job)

    def _work(self) -> None:
        seconds: float | None = None
        while True:
            with self._wake:
                job = self._next(seconds)
            if job is not None:
                self._run(*job)
            del job  # it may hold tensors
            seconds = self._run_chore()

    def _next(self, seconds: float | None) -> tuple[str, Callable[[], Any]] | None:
        """The next job; None if none came within these seconds."""
        while not self._jobs:
            self._busy = False
            self._wake.notify_all()
            if not self._wake.wait(seconds) and not self._jobs:
                return None
        self._busy = True
        what, job, size = self._jobs.popleft()
        self._waiting -= size
        return what, job

    def _run(self, what: str, job: Callable[[], Any]) -> None:
        try:
            job()
        except ODD as error:
            self._losses.count(what, f"computing failed: {one_line(error)}")

    def _run_chore(self) -> float | None:
        try:
            return self.chore()
        except ODD as error:
            self._losses.count("batches", f"computing failed: {one_line(error)}")
            return 1.0

    def settle(self, patience: float) -> bool:
        """Wait until every job is done. False if that takes longer than `patience` seconds."""
        until = time.monotonic() + patience
        with self._wake:
            alone = bool(self._jobs) and not self._runs()
        if alone:
            self._work_here(until)
        with self._wake:
            while self._jobs or self._busy:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._wake.wait(left)
        return True

    def _work_here(self, until: float) -> None:
        """Run the jobs on the caller's thread, because there is no other."""
        while time.monotonic() < until:
            with self._wake:
                if not self._jobs:
                    return
                job = self._next(0.0)
                self._busy = False
            if job is not None:
                self._run(*job)
            self._run_chore()

    def give_up(self) -> None:
        """Drop the jobs that wait, because the run ends, and count them."""
        with self._wake:
            for what, _, _ in self._jobs:
                self._losses.count(what, "the run ended before they were computed")
            self._jobs.clear()
