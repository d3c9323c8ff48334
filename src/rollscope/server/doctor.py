"""Diagnoses runs beside the requests: with readers of its own, one run at a time, not too often.

A page never waits long for a diagnosis: it gets the last findings, and an event when they change.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from rollscope.diagnose import Finding, Skipped, diagnosis

from .library import Library

log = logging.getLogger("rollscope.server")
PATIENCE = 4.0  # seconds between two diagnoses of a growing run
MOST_OPEN = 2  # readers: one run is diagnosed at a time


@dataclass(frozen=True, slots=True)
class Diagnosis:
    fingerprint: tuple[float, int]  # of the run's folder
    at: float
    findings: list[Finding]
    skipped: list[Skipped]
    step: int = 0  # the run's last step then


class Doctor:
    """The last findings of each run. `tell(run)` is called when they change."""

    def __init__(self, path: str, tell: Callable[[str], None]) -> None:
        self.library = Library(path, MOST_OPEN)
        self.tell = tell
        self._diagnoses: dict[str, Diagnosis] = {}
        self._jobs: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rollscope-doctor")

    def known(self, id: str) -> list[Finding] | None:
        """The last findings, without a new diagnosis; None before the first."""
        diagnosis = self._diagnoses.get(id)
        return diagnosis.findings if diagnosis else None

    def skipped(self, id: str) -> list[Skipped]:
        """Rules that had not what they need at the last diagnosis."""
        diagnosis = self._diagnoses.get(id)
        return diagnosis.skipped if diagnosis else []

    def step(self, id: str) -> int:
        """The run's last step at the last diagnosis."""
        return self._diagnoses[id].step

    def findings(self, id: str, wait: float = 0.0) -> list[Finding] | None:
        """The last findings; a diagnosis that is out of date is renewed in the background.

        Waits at most `wait` seconds for the first diagnosis, and returns None if it takes longer.
        """
        first = id not in self._diagnoses
        if first or self._is_old(id):
            job = self._jobs.get(id)
            if job is None or job.done():
                job = self._jobs[id] = self._pool.submit(self._diagnose, id)
            if first and wait:
                try:
                    job.result(wait)
                except NotYet:
                    return None
        return self.known(id)

    def _is_old(self, id: str) -> bool:
        diagnosis = self._diagnoses[id]
        changed = diagnosis.fingerprint != self.library.fingerprint(id)
        return changed and time.monotonic() - diagnosis.at > PATIENCE

    def _diagnose(self, id: str) -> None:
        fingerprint, step = self.library.fingerprint(id), 0
        findings: list[Finding] = []
        skipped: list[Skipped] = []
        try:
            with self.library.reading(id) as run:
                told, step = diagnosis(run), run.last_step or 0
                findings, skipped = told.findings, told.skipped
        except Exception:  # the run's pages must work without findings
            log.exception("the diagnosis of %s failed", id)
        before = self.known(id)
        self._diagnoses[id] = Diagnosis(fingerprint, time.monotonic(), findings, skipped, step)
        if findings != before:
            self.tell(id)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
