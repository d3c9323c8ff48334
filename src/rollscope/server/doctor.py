"""Diagnoses runs beside the requests: with readers of its own, one run at a time, not too often.

A page never waits long for a diagnosis: it gets the last findings, and an event when they change.
A diagnosis that nobody waits for begins when no page is being loaded, and after a rest: many runs
that grow at once would take a whole core, and keep every request waiting.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from rollscope.diagnose import Diagnosis, Finding, Skipped, whole_diagnosis
from rollscope.diagnose.costs import Useful
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.diagnose.life import Lives, alive
from rollscope.diagnose.reading.case import Case
from rollscope.store.run import Run

from .library import Library

log = logging.getLogger("rollscope.server")
PATIENCE = 4.0  # seconds between two diagnoses of a growing run
SILENT = 60.0  # and of a run that says nothing, although it should: a stall is found in silence
LOOK = 0.05  # seconds between two looks whether a page is being loaded
REST = 5.0  # times the processor time of a diagnosis: the doctor takes a sixth of a core at most
MOST_OPEN = 64  # readers of runs that go on: opening one again costs ten times a diagnosis


@dataclass(frozen=True, slots=True)
class _Last:
    """The last diagnosis of a run."""

    fingerprint: tuple[float, int]  # of the run's folder
    at: float
    told: Diagnosis
    step: int = 0  # the run's last step then
    running: bool = False
    took: float = 0.0  # seconds


class Doctor:
    """The last findings of each run. `tell(run)` is called when they change.

    `is_page` says whether a page is being loaded.
    """

    def __init__(self, path: str, tell: Callable[[str], None], is_page: Callable[[], bool] = lambda: False) -> None:
        self.library = Library(path, MOST_OPEN)
        self.tell, self.is_page = tell, is_page
        self._awaited: set[str] = set()  # runs whose diagnosis a page waits for
        self._closed = threading.Event()
        self._rests = 0.0  # until when the doctor rests
        self._diagnoses: dict[str, _Last] = {}
        self._lives: dict[str, Lives] = {}  # of runs that go on
        self._jobs: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rollscope-doctor")

    def known(self, id: str) -> list[Finding] | None:
        """The last findings, without a new diagnosis; None before the first."""
        last = self._diagnoses.get(id)
        return last.told.findings if last else None

    def skipped(self, id: str) -> list[Skipped]:
        """Rules that had not what they need at the last diagnosis."""
        last = self._diagnoses.get(id)
        return last.told.skipped if last else []

    def looked(self, id: str) -> int:
        """How many rules had what they need at the last diagnosis."""
        last = self._diagnoses.get(id)
        return last.told.looked if last else 0

    def recovered(self, id: str) -> list[Finding]:
        """Findings that were written while the run ran, and hold no more."""
        last = self._diagnoses.get(id)
        return last.told.recovered if last else []

    def useful(self, id: str) -> Useful | None:
        """The useful share of what the run generated, at the last diagnosis."""
        last = self._diagnoses.get(id)
        return last.told.useful if last else None

    def took(self, id: str) -> float:
        """Seconds of the last diagnosis."""
        last = self._diagnoses.get(id)
        return last.took if last else 0.0

    def step(self, id: str) -> int:
        """The run's last step at the last diagnosis."""
        return self._diagnoses[id].step

    def findings(self, id: str, wait: float = 0.0, at_once: bool = False) -> list[Finding] | None:
        """The last findings; a diagnosis that is out of date is renewed in the background.

        Waits at most `wait` seconds for the first diagnosis, and returns None if it takes longer.
        `at_once`: the first one lets no page pass.
        """
        first = id not in self._diagnoses
        if first and at_once:
            self._awaited.add(id)
        if first or self._is_old(id):
            job = self._jobs.get(id)
            if job is None or job.done():
                job = self._jobs[id] = self._pool.submit(self._diagnose, id)
            if first and wait:
                try:
                    job.result(wait)
                except NotYet:
                    return None
                self._awaited.discard(id)
        return self.known(id)

    def _is_old(self, id: str) -> bool:
        last = self._diagnoses[id]
        changed = last.fingerprint != self.library.fingerprint(id)
        age = time.monotonic() - last.at
        return age > PATIENCE if changed else last.running and age > SILENT

    def _let_pass(self) -> None:
        """Wait until pages are loaded and the doctor has rested, unless one waits for findings."""
        while not self._awaited and self._is_idle() and not self._closed.wait(LOOK):
            pass

    def _is_idle(self) -> bool:
        return self.is_page() or time.monotonic() < self._rests

    def _diagnose(self, id: str) -> None:
        self._let_pass()
        self._awaited.discard(id)
        worked = time.thread_time()
        last = _Last(self.library.fingerprint(id), time.monotonic(), Diagnosis())
        try:
            with self.library.reading(id) as run:
                step, told = run.last_step or 0, whole_diagnosis(run)
                told = self._follow(id, run, told)  # which sees the run go on
                now = time.monotonic()
                last = _Last(last.fingerprint, now, told, step, run.state == "running", now - last.at)
                Case.forget(run)
        except Exception:  # the run's pages must work without findings
            log.exception("the diagnosis of %s failed", id)
        if not last.running:
            self.library.let_go(id)
        self._rests = time.monotonic() + REST * (time.thread_time() - worked)
        before = self._diagnoses.get(id)
        self._diagnoses[id] = last
        if before is None or before.told != last.told:
            self.tell(id)

    def _follow(self, id: str, run: Run, told: Diagnosis) -> Diagnosis:
        """Write the lives of findings of a run that goes on, and once more when it has ended."""
        running = run.state == "running"
        lives = self._lives.setdefault(id, Lives(run.path)) if running else self._lives.pop(id, None)
        if lives is None:
            return told
        changed = lives.look(run, open_findings(told.findings, hidden(run)), ended=not running)
        if not running:
            lives.close()
        return alive(told, run) if changed else told

    def close(self) -> None:
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for lives in self._lives.values():
            lives.close()
