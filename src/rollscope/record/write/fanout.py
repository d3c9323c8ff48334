"""Sinks, each on its own thread: one that hangs or raises harms neither training nor the others."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from rollscope.record.loss import Losses, one_line
from rollscope.record.thread import started
from rollscope.sinks import Row, Sink

ROWS = 20_000  # that may wait for one sink
TRIES = 3
PATIENCE_SECONDS = 30.0  # after which a sink that does not respond is reported


class SinkThread:
    """Feeds one sink.

    It opens the sink on its thread, because a library may take seconds to import.
    """

    def __init__(self, name: str, open_sink: Callable[[], Sink], losses: Losses, pause: float = 0.5) -> None:
        self.name = name
        self._open_sink = open_sink
        self._losses = losses
        self._pause = pause  # seconds before the second try
        self._rows: deque[Row] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._busy_since: float | None = None
        self._thread = started(self._work, f"rollscope-{name}", losses)

    def put(self, rows: Sequence[Row]) -> None:
        """Queue rows. When too many wait, the oldest are lost."""
        for row in rows:
            if len(self._rows) >= ROWS:
                self._rows.popleft()
                self._lose(1, "it does not take them fast enough")
            self._rows.append(row)
        if self._thread is None:
            self._thread = started(self._work, f"rollscope-{self.name}", self._losses)
        self._wake.set()

    def check(self) -> None:
        """Report once that a write takes too long."""
        since = self._busy_since
        if since is not None and time.monotonic() - since > PATIENCE_SECONDS:
            self._losses.say(
                f"the sink {self.name} has not responded for {PATIENCE_SECONDS:.0f} s; everything else goes on"
            )

    def end(self) -> None:
        """Write what waits, then close: no more rows will come."""
        self._closing = True
        self._wake.set()

    def close(self, timeout: float) -> None:
        """Wait for the end. A sink that hangs is left behind, and its rows count as lost."""
        self.end()
        if self._thread is None:
            self._lose(max(1, len(self._rows)), "no thread could be started for it")
            return
        self._thread.join(timeout)
        if self._thread.is_alive():
            self._lose(max(1, len(self._rows)), f"it had not responded {timeout:.0f} s after the end")

    def _lose(self, count: int, why: str) -> None:
        self._losses.count(f"rows for {self.name}", why, count, of_store=False)

    def _work(self) -> None:
        sink = self._opened()
        while True:
            closing = self._closing
            self._wake.clear()
            batch = [self._rows.popleft() for _ in range(len(self._rows))]
            if batch:
                self._write(sink, batch)
            elif closing:
                break
            else:
                self._wake.wait()
        if sink is not None:
            try:
                sink.close()
            except Exception as error:
                self._losses.say(f"closing the sink {self.name} failed: {one_line(error)}")

    def _opened(self) -> Sink | None:
        try:
            self._busy_since = time.monotonic()
            return self._open_sink()
        except BaseException as error:  # a library may call sys.exit
            self._losses.say(f"the sink {self.name} could not be opened; the run is recorded without it: {error}")
            return None
        finally:
            self._busy_since = None

    def _write(self, sink: Sink | None, batch: list[Row]) -> None:
        if sink is None:
            self._lose(len(batch), "it could not be opened")
            return
        for attempt in range(TRIES):
            try:
                self._busy_since = time.monotonic()
                sink.write(batch)
                return
            except BaseException as error:
                if attempt == TRIES - 1:
                    self._lose(len(batch), f"it failed {TRIES} times, last with {one_line(error)}")
                elif not self._closing:
                    time.sleep(self._pause * 4**attempt)
            finally:
                self._busy_since = None
