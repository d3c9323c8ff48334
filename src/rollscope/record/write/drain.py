"""The thread that writes: it empties the queue, appends blocks to the log, and feeds the sinks.

It flushes ten times a second, less often while little comes, and releases the interpreter so often
that a caller waits for it much less than a millisecond. Errors are counted and reported; none
leaves this thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rollscope.record.caller.queue import Queue
from rollscope.record.clock import Clock
from rollscope.record.loss import Losses, one_line
from rollscope.record.thread import started
from rollscope.store.log.writer import SyncFailed

from .backlog import Backlog
from .fanout import SinkThread
from .intake import Intake
from .keeper import Keeper
from .log_files import LogFiles
from .open_spans import OpenSpans

FLUSH_SECONDS = 0.1
# While little comes: waking up is most of such a recorder's cost, and a kill may take a second.
CALM_SECONDS = 0.4
CALM = 100  # items a second that are little: a training of two steps a second, with all its spans
RETRY_SECONDS = 1.0
BEAT_SECONDS = 15.0


class Drain:
    """Moves items from the queue through the backlog into the log files.

    Any thread may call `turn`, `settle` and `finish`; a lock lets one round run at a time.
    """

    def __init__(
        self,
        queue: Queue,
        files: LogFiles,
        sinks: list[SinkThread],
        keeper: Keeper,
        losses: Losses,
        clock: Clock,
        attempt: int,
        rank: int,
        keep_values: bool,
    ) -> None:
        self.queue = queue
        self.files = files
        self.sinks = sinks
        self.losses = losses
        self.clock = clock
        self.beats = rank == 0
        self.backlog = Backlog(losses, queue.bound, attempt)
        self.intake = Intake(queue, self.backlog, sinks, keeper, losses, clock, rank, keep_values)
        self.open_spans = OpenSpans(queue, files, clock)
        self.busy = 0.0  # CPU seconds of this thread
        self._retry_at = 0.0
        self._failing = False
        self._beat_at = time.monotonic() + BEAT_SECONDS
        self._done = False
        self._lock = threading.RLock()
        if not self._start():
            queue.until_started(self._start)

    def _start(self) -> bool:
        return started(self._work, "rollscope-drain", self.losses) is not None

    def _work(self) -> None:
        wait = FLUSH_SECONDS
        while not self._done:
            self.queue.idle = wait > FLUSH_SECONDS
            self.queue.wake.wait(wait)
            self.queue.idle = False
            busy = len(self.queue.items) > CALM * wait or self.intake.waiting
            wait = FLUSH_SECONDS if busy else min(2 * wait, CALM_SECONDS)
            self.turn()
            self.busy = time.thread_time()

    def turn(self, patience: float = -1.0) -> bool:
        """One round: take, encode, write. Never raises.

        False if it failed, or if another round hangs in a write for longer than `patience` seconds.
        """
        if not self._lock.acquire(timeout=patience):
            return False
        try:
            self.intake.take()
            self.intake.close_due_steps()
            self._write()
        except Exception as error:
            self.losses.count("flushes", f"an error inside rollscope, please report it: {one_line(error)}")
            return False
        finally:
            self._lock.release()
        return True

    def _write(self) -> None:
        now = time.monotonic()
        self._tend(now)
        if now < self._retry_at:
            self._hold()
            return
        self.backlog.add("notes", self.losses.notes(self.clock.now()))
        try:
            self.files.tend()
            for payload in self.backlog.blocks():
                self.files.append([payload])
                self._beat_at = now + BEAT_SECONDS
        except OSError as error:
            self._retry_at = now + RETRY_SECONDS
            self._report_failure(error)
            self._hold()
            return
        if self._failing:
            self._failing = False
            self.losses.say(f"writing to {self.files.folder} again; nothing that was kept in memory is lost")
        self.queue.held = 0

    def _report_failure(self, error: OSError) -> None:
        self._failing = True
        if isinstance(error, SyncFailed):
            why = f"the disk took them and may have lost them again ({error.strerror})"
            self.losses.count("bytes", why, error.bytes)
        self.losses.say(
            f"cannot write to {self.files.folder} ({error.strerror or error}); "
            f"keeping up to {self.queue.bound >> 20} MB in memory and trying again",
            "store",
        )

    def _hold(self) -> None:
        self.backlog.shrink()
        self.queue.held = self.backlog.held

    def _tend(self, now: float) -> None:
        """Follow the clock, check the sinks, and write now and then that the run is alive."""
        if back := self.clock.tend():
            seconds = f"{back / 1e9:.0f} s"
            self.losses.say(f"the wall clock was set back by {seconds}; times go on from where they were", "clock")
        for sink in self.sinks:
            sink.check()
        self.open_spans.tend(now)
        if now > self._beat_at and self.beats:
            self._beat_at = now + BEAT_SECONDS
            self.backlog.add("runs", [{"state": "running", "ended_ns": self.clock.now()}])

    def settle(self, patience: float = 5.0) -> bool:
        """Write everything recorded so far. False if some of it could not be written in time."""
        until = time.monotonic() + patience
        while True:
            self._retry_at = 0.0
            if self.turn(max(0.0, until - time.monotonic())) and not self.intake.waiting and not self._failing:
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.02)

    def sync(self, patience: float) -> bool:
        """Wait until the disk has everything written so far. False if it does not, or is late."""
        if not self._lock.acquire(timeout=patience):
            return False
        try:
            self.files.sync()
        except OSError as error:
            self._report_failure(error)
            return False
        finally:
            self._lock.release()
        return True

    def finish(self, patience: float, final_rows: Callable[[], list[dict[str, Any]]]) -> bool:
        """Close every step, write everything, and let the sinks finish.

        `final_rows` are the last of `runs`. True if everything was written.
        """
        self.settle(patience)  # values on their way from a device belong to their steps
        if not self._lock.acquire(timeout=patience):
            self._done = True
            self.losses.count("flushes", f"writing to {self.files.folder} has not come back")
            return False
        try:
            self.intake.close_all_steps()
            self.beats = False  # a row that says "running" must not follow the last one
            self.backlog.add("runs", final_rows())
            written = self.settle(patience if not self._failing else 0.0)
            self._close_sinks(patience)
            self._done = True
            self.queue.wake.set()
            if not written:
                why = f"the store could not be written until the end of the process ({self.files.folder})"
                self.losses.count("bytes", why, self.backlog.held)
            written = self.turn() and not self._failing
            self.open_spans.end()
            self.files.close()
            return written
        except OSError as error:
            self.losses.say(f"closing the log failed: {error}")
            return False
        finally:
            self._lock.release()

    def _close_sinks(self, patience: float) -> None:
        until = time.monotonic() + patience
        for sink in self.sinks:
            sink.end()  # all at once, so that one that hangs does not take the time of the others
        for sink in self.sinks:
            sink.close(max(0.1, until - time.monotonic()))

    def abandon(self) -> None:
        """In a forked child: the parent's thread is not here, and the file is the parent's."""
        self._done = True
        self.files.abandon()
