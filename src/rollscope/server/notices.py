"""`serve --notify`: the server follows the runs that go on, and tells targets about findings."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.errors import RollscopeError
from rollscope.notify.notifier import Notifier
from rollscope.notify.target import Target

from .doctor import Doctor

log = logging.getLogger("rollscope.server")
LOOK_SECONDS = 2.0  # with the doctor's own rest, a finding is told within ten seconds
PATIENCE_SECONDS = 5.0  # for targets, when the server ends


class Notices:
    """One notifier for each run that goes on. A run that ended gets a last look."""

    def __init__(self, doctor: Doctor, running: Callable[[], Iterable[str]], targets: Sequence[Target]) -> None:
        self._doctor, self._running, self._targets = doctor, running, targets
        self._notifiers: dict[str, Notifier] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rollscope-notices", daemon=True)

    def start(self) -> None:
        if self._targets:
            self._thread.start()

    def _work(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self._look()
            except Exception:  # a store that cannot be listed now
                log.exception("runs could not be followed; trying again")

    def _look(self) -> None:
        running = set(self._running())
        for id in running | self._notifiers.keys():
            if not self._stop.is_set():
                self._tell(id)
        for id in self._notifiers.keys() - running:
            self._notifiers.pop(id).close(0.0)

    def _tell(self, id: str) -> None:
        findings = self._doctor.findings(id)
        if findings is None:
            return
        step = self._doctor.step(id)
        try:
            with self._doctor.library.reading(id) as run:
                shown = open_findings(findings, hidden(run))
                notifier = self._notifiers.get(id) or self._notifier(id, run.path, str(run.facts.get("name") or id))
        except RollscopeError:  # it was removed, or cannot be read now
            return
        notifier.look(shown, step)

    def _notifier(self, id: str, folder: str, name: str) -> Notifier:
        notifier = self._notifiers[id] = Notifier(folder, id, name, self._targets, log.warning)
        return notifier

    def close(self) -> None:
        self._stop.set()
        for notifier in list(self._notifiers.values()):
            notifier.close(PATIENCE_SECONDS / len(self._notifiers))
