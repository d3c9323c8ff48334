"""Findings of a run, diagnosed beside the requests: with readers of its own, one run at a time, not more often than people can read.

A page never waits long for a diagnosis: it gets what was found last, and is told when there is more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from rollscope.diagnose import Finding, diagnose

from .library import Library

log = logging.getLogger("rollscope.server")
PATIENCE = 4.0  # seconds between two diagnoses of a run that grows


@dataclass(frozen=True, slots=True)
class Diagnosis:
    of: tuple[float, int]  # the state of the run's folder
    at: float
    findings: list[Finding]


class Doctor:
    def __init__(self, path: str, tell: Callable[[str], None]) -> None:
        self.library = Library(path)
        self.tell = tell
        self._found: dict[str, Diagnosis] = {}
        self._jobs: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rollscope-doctor")

    def known(self, id: str) -> list[Finding] | None:
        """What was found last, without looking again; None before the first diagnosis."""
        kept = self._found.get(id)
        return kept.findings if kept else None

    def findings(self, id: str, wait: float = 0.0) -> list[Finding] | None:
        """What is wrong with a run. A first diagnosis is waited for, at most so many seconds; a newer one is made beside."""
        kept = self._found.get(id)
        if kept is None or (kept.of != self.library.fingerprint(id) and time.monotonic() - kept.at > PATIENCE):
            job = self._jobs.get(id)
            if job is None or job.done():
                job = self._jobs[id] = self._pool.submit(self._diagnose, id)
            if kept is None and wait:
                try:
                    job.result(wait)
                except NotYet:
                    return None
        return self.known(id)

    def _diagnose(self, id: str) -> None:
        of, found = self.library.fingerprint(id), []
        try:
            with self.library.reading(id) as run:
                found = list(diagnose(run))
        except Exception:  # a rule that fails must not take the run's pages with it; what it would have said is missing, and the log says why
            log.exception("the diagnosis of %s failed", id)
        before = self.known(id)
        self._found[id] = Diagnosis(of, time.monotonic(), found)
        if found != before:
            self.tell(id)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
