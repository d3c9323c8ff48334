"""One target of one run: records what is to be told, then sends it from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from rollscope.diagnose.finding import Finding

from .delivery import NotSent, Refused, Unanswered
from .ledger import Ledger
from .notice import Notice
from .onsets import Onsets
from .target import Target, fingerprint

Say = Callable[[str], None]
FIRST_WAIT_SECONDS = 1.0  # doubled after each failure
LONGEST_WAIT_SECONDS = 60.0
MOST_WAITING = 100  # notices of one run that may wait for one target
OLDEST_SECONDS = 24 * 3600.0  # what could not be told in this time is given up


class Channel:
    """Tells one target about one run. A notice is on disk before it is sent."""

    def __init__(self, folder: str, run: str, name: str, target: Target, say: Say, wait: float) -> None:
        self._target, self._say, self._first_wait = target, say, wait
        self._run, self._name = run, name
        self._ledger = Ledger(folder, fingerprint(target), target.shown)
        self._onsets: Onsets | None = None
        self._lock = threading.Lock()  # of the ledger and the thread
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._said = ""  # the last failure that was said

    def look(self, findings: Sequence[Finding]) -> None:
        """Record what changed, and send it. Another process may be the one that does."""
        try:
            with self._lock:
                if self._ledger.take():
                    self._record(findings)
                    self._start()
        except OSError as error:
            self._say_once(f"nothing is sent to {self._target.shown}: its record cannot be written ({error.strerror})")

    def _record(self, findings: Sequence[Finding]) -> None:
        first = self._onsets is None and not self._ledger.entries
        if self._onsets is None:
            self._onsets = Onsets(self._run, self._name, [e.notice for e in self._ledger.entries.values()])
        waiting = len(self._ledger.waiting())
        over = {finding.step for finding in findings if finding.until is not None} if first else set()
        for notice in self._onsets.look(findings):
            if first and notice.step in over:
                self._ledger.write(notice, "passed", "it was over before anyone looked")
            elif waiting >= MOST_WAITING:
                self._ledger.write(notice, "given up", f"{MOST_WAITING} notices were waiting already")
            else:
                self._ledger.write(notice, "queued")
                waiting += 1

    def _start(self) -> None:
        if self._ledger.waiting() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._work, name="rollscope-notify", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        wait = self._first_wait
        while not self._stop.is_set():
            with self._lock:
                notice = next(iter(self._ledger.waiting()), None)
                if notice is None:
                    self._thread = None
                    return
            asked = self._try(notice)
            if asked is None:
                wait = self._first_wait
                continue
            self._stop.wait(max(wait, asked))
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _try(self, notice: Notice) -> float | None:
        """Send a notice; None if it is settled, else the seconds that the target asks to wait."""
        if time.time_ns() - notice.time_ns > OLDEST_SECONDS * 1e9:
            self._settle(notice, "given up", "it could not be told for a day")
            return None
        if not self._settle(notice, "sending"):
            return None
        stage, why, wait = self._send(notice)
        self._settle(notice, stage, why)
        return wait if stage == "failed" else None

    def _send(self, notice: Notice) -> tuple[str, str, float]:
        """The stage after one try, the reason, and the seconds to wait."""
        try:
            self._target.send(notice)
        except NotSent as error:
            self._say_once(f"{self._target.shown} did not get a notice: {error}. It is tried again")
            return "failed", str(error), error.wait
        except Refused as error:
            return "refused", str(error), 0.0
        except Unanswered as error:
            return "unanswered", str(error), 0.0
        except Exception as error:  # a fault of ours must not send it again and again
            return "refused", f"an error inside rollscope: {type(error).__name__}", 0.0
        self._said = ""
        return "sent", "", 0.0

    def _settle(self, notice: Notice, stage: str, why: str = "") -> bool:
        """Record a stage. Without a record nothing more is sent."""
        if why and stage in ("refused", "unanswered", "given up"):
            self._say(f"{self._target.shown}: a notice is {stage}: {why}.")
        try:
            with self._lock:
                self._ledger.write(notice, stage, why)
        except OSError as error:
            self._stop.set()
            self._say_once(f"nothing is sent to {self._target.shown}: its record cannot be written ({error.strerror})")
            return False
        return True

    def _say_once(self, sentence: str) -> None:
        if sentence != self._said:
            self._said = sentence
            self._say(sentence + ".")

    def close(self, until: float) -> None:
        """Wait for what is being sent, until a moment of `time.monotonic`; then let others send."""
        thread = self._thread
        if thread is not None:
            thread.join(max(0.0, until - time.monotonic()))
        self._stop.set()
        if thread is None or not thread.is_alive():
            self._ledger.close()
