"""The thread that writes: takes what was handed over, makes blocks of it, gives them to the store, and closed steps to the other sinks.

It flushes ten times a second and lets go of the interpreter often, so that the longest a caller waits for it is well under a millisecond.
Whatever goes wrong here is counted and said; nothing gets out.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from rollscope.record.caller import queue as q
from rollscope.record.caller.handover import pieces
from rollscope.record.caller.queue import Queue
from rollscope.record.clock import Clock
from rollscope.record.loss import Losses
from rollscope.sinks import Row
from rollscope.store.log.writer import SyncFailed

from .backlog import Backlog
from .fanout import SinkThread
from .keeper import Keeper
from .log_files import StoreSink
from .sample_rows import spread
from .steps import Step, Steps

FLUSH_SECONDS = 0.1
IDLE_SECONDS = 0.4  # while nothing comes: waking up is most of what an idle recorder costs, and a sudden end may take the last second
RETRY_SECONDS = 1.0
BEAT_SECONDS = 15.0
SLICE_SECONDS = 0.0003  # of work before others get the interpreter
BATCH = 64  # items between two looks at the clock


class Drain:
    def __init__(
        self,
        queue: Queue,
        store: StoreSink,
        sinks: list[SinkThread],
        keeper: Keeper,
        losses: Losses,
        clock: Clock,
        attempt: int,
        rank: int,
        keep_values: bool,
    ) -> None:
        self.queue = queue
        self.store = store
        self.sinks = sinks
        self.keeper = keeper
        self.losses = losses
        self.clock = clock
        self.rank = rank
        self.lane = f"trainer/{rank}"
        self.steps = Steps(keep_values or bool(sinks))
        self.backlog = Backlog(losses, queue.bound, attempt)
        self.beats = rank == 0
        self.busy = 0.0  # CPU seconds of this thread
        self._coming: list[tuple[Any, ...]] = []  # items that wait for a device
        self._retry_at = 0.0
        self._failing = False
        self._beat_at = time.monotonic() + BEAT_SECONDS
        self._done = False
        self._lock = threading.RLock()  # the thread, and finish() or reduce() on the caller's
        self._thread = threading.Thread(target=self._work, name="rollscope-drain", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        wait = FLUSH_SECONDS
        while not self._done:
            self.queue.idle = wait > FLUSH_SECONDS
            self.queue.wake.wait(wait)
            self.queue.idle = False
            wait = FLUSH_SECONDS if self.queue.items or self._coming else min(2 * wait, IDLE_SECONDS)
            self.turn()
            self.busy = time.thread_time()

    def turn(self, patience: float = -1.0) -> bool:
        """One round: take, encode, write. Never raises; False when the drain hangs in a write for longer than `patience`."""
        if not self._lock.acquire(timeout=patience):
            return False
        try:
            self._take()
            self._close_steps(self.steps.due(min(list(self.queue.computing), default=None)))
            self._write()
        except Exception as error:
            self.losses.count("flushes", f"an error inside rollscope, please report it: {error!r}")
        finally:
            self._lock.release()
        return True

    def _take(self) -> None:
        self._coming, waiting = [], self._coming
        since = time.perf_counter()
        for i, item in enumerate(itertools.chain(waiting, self.queue.take())):
            try:
                self._one(item)
            except Exception as error:
                self.losses.count("calls", f"they could not be read: {error!r}")
            if i % BATCH == BATCH - 1 and time.perf_counter() - since > SLICE_SECONDS:
                time.sleep(1e-5)
                since = time.perf_counter()

    def _one(self, item: tuple[Any, ...]) -> None:
        kind = item[0]
        if kind == q.NUMBERS:
            _, step, time_ns, values, labels = item
            all_floats = [*map(type, values.values())].count(float) == len(values)
            if values:
                (self.backlog.metrics.add_floats if all_floats else self.backlog.metrics.add_mixed)(
                    step, time_ns, values, labels
                )
            self._heard(step, time_ns, values, labels)
        elif kind == q.ROW:
            _, step, time_ns, schema, row, labels = item
            self.backlog.metrics.add_packed(schema, labels, row)
            self._heard(step, time_ns, schema.values(row) if self.steps.keep_values else {}, labels)
        elif kind == q.MIXED:
            _, step, time_ns, values, labels = item
            if values:
                self.backlog.metrics.add_mixed(step, time_ns, values, labels)
                self._heard(step, time_ns, values, labels)
        elif kind == q.SPAN:
            self._span(item)
        elif kind == q.ARRIVING:
            self._arriving(item)
        elif kind == q.SAMPLES:
            self._samples(item)
        elif kind == q.ROWS:
            self._rows(item[1], self.keeper.redacted(item[1], item[2]))
        elif kind == q.COMMIT:
            self._commit(item)

    def _heard(self, step: int, time_ns: int, values: dict[str, Any], labels: Any) -> None:
        if labels.clock is not None:
            return
        if labels.env is not None:
            values = (
                {f"{labels.env}/{name}": value for name, value in values.items()} if self.steps.keep_values else values
            )
        self.steps.add(step, time_ns, values)

    def _span(self, item: tuple[Any, ...]) -> None:
        span = item[1]
        if not span.resolved:
            self._coming.append(item)
            return
        self.backlog.add("spans", [span.row(self.clock.offset, self.lane, self.rank)])

    def _arriving(self, item: tuple[Any, ...]) -> None:
        _, step, time_ns, arriving, labels = item
        if arriving.transfer.has_arrived():
            self._one((q.MIXED, step, time_ns, arriving.values(), labels))
        else:
            self._coming.append(item)

    def _samples(self, item: tuple[Any, ...]) -> None:
        _, step, time_ns, samples, transfer, same = item
        if not transfer.has_arrived():
            self._coming.append(item)
            return
        now, *later = pieces(spread(samples)) if isinstance(samples, Mapping) else samples
        if later:  # the rest in the next round, so that numbers do not wait for text
            self._coming.append((q.SAMPLES, step, time_ns, later, transfer, same))
            self.queue.wake.set()
        rows, turns = self.keeper.rows(now.records(), step, time_ns, same)
        total = self._rows("samples", rows) + self._rows("turns", turns)
        if rows:
            self.queue.sample_bytes = total // len(rows)

    def _rows(self, table: str, rows: list[dict[str, Any]]) -> int:
        total = self.backlog.add(table, rows)
        if self.sinks and table not in ("host", "spans"):
            self._give([Row(table, row.get("step"), row.get("time_ns", 0), row) for row in rows])
        return total

    def _commit(self, item: tuple[Any, ...]) -> None:
        _, step, time_ns, clocks, settled = item
        found = self.steps.heard(step, time_ns)
        found.clocks |= clocks
        if settled is not None:
            found.values = settled
        self.steps.close(step)
        self._close_steps([found])

    def _close_steps(self, steps: list[Step]) -> None:
        for step in steps:
            self._rows("steps", [step.row()])
            if step.values:
                self._give([Row("metrics", step.number, step.last_ns, step.values)])

    def _give(self, rows: list[Row]) -> None:
        for sink in self.sinks:
            sink.put(rows)

    def _write(self) -> None:
        now = time.monotonic()
        self._tend(now)
        if now < self._retry_at:
            self._hold()
            return
        self.backlog.add("notes", self.losses.notes(self.clock.now()))
        try:
            self.store.tend()
            for payload in self.backlog.blocks():
                self.store.append([payload])
                self._beat_at = now + BEAT_SECONDS
        except OSError as error:
            if isinstance(error, SyncFailed):
                self.losses.count(
                    "bytes", f"the disk took them and may have lost them again ({error.strerror})", error.bytes
                )
            self._failing, self._retry_at = True, now + RETRY_SECONDS
            self.losses.say(
                f"cannot write to {self.store.folder} ({error.strerror or error}); keeping up to {self.queue.bound >> 20} MB in memory and trying again",
                "store",
            )
            self._hold()
            return
        if self._failing:
            self._failing = False
            self.losses.say(f"writing to {self.store.folder} again; nothing that was kept in memory is lost")
        self.queue.held = 0

    def _hold(self) -> None:
        self.backlog.shrink()
        self.queue.held = self.backlog.held

    def _tend(self, now: float) -> None:
        back = self.clock.tend()
        if back:
            self.losses.say(
                f"the wall clock was set back by {back / 1e9:.0f} s; times go on from where they were", "clock"
            )
        for sink in self.sinks:
            sink.look()
        if now > self._beat_at and self.beats:
            self._beat_at = now + BEAT_SECONDS
            self.backlog.add("runs", [{"state": "running", "ended_ns": self.clock.now()}])

    def settle(self, patience: float = 5.0) -> bool:
        """Write everything that was handed over so far; False when some of it could not be."""
        until = time.monotonic() + patience
        while True:
            self._retry_at = 0.0
            if self.turn(max(0.0, until - time.monotonic())) and not self._coming and not self._failing:
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.02)

    def values(self, step: int) -> dict[str, Any]:
        """The step's merged values so far."""
        found = self.steps.open.get(step)
        return dict(found.values) if found else {}

    def finish(self, patience: float, last: Callable[[], list[dict[str, Any]]]) -> None:
        """Close every step, write everything, let the sinks finish. `last` gives the last rows of `runs`."""
        self.settle(patience)  # values on their way from a device belong to their steps
        if not self._lock.acquire(timeout=patience):
            self._done = True
            self.losses.count("flushes", f"writing to {self.store.folder} has not come back")
            return
        try:
            self._close_steps(self.steps.rest())
            self.backlog.add("runs", last())
            kept = self.settle(patience if not self._failing else 0.0)
            until = time.monotonic() + patience
            for sink in self.sinks:
                sink.end()  # all at once, so that one that hangs does not take the others' time
            for sink in self.sinks:
                sink.close(max(0.1, until - time.monotonic()))
            self._done = True
            self.queue.wake.set()
            if not kept:
                self.losses.count(
                    "bytes",
                    f"the store could not be written until the end of the process ({self.store.folder})",
                    self.backlog.held,
                )
            self.turn()
            self.store.close()
        except OSError as error:
            self.losses.say(f"closing the log failed: {error}")
        finally:
            self._lock.release()

    def abandon(self) -> None:
        """In a forked child: the parent's thread does not exist here, and the parent's file is the parent's."""
        self._done = True
        self.store.abandon()
