"""Watchers: threads that look at the machine and at inference engines now and then, and hand over what they saw as rows of `host`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from rollscope.record.caller.queue import ROWS, Queue
from rollscope.record.clock import Clock
from rollscope.record.loss import Losses

Reading = tuple[str, str, float]  # device, quantity, value
EVERY_SECONDS = 5.0
ROW_BYTES = 150


class Watcher:
    """Asks a probe every few seconds. A probe that fails is said once and asked again."""

    def __init__(
        self,
        name: str,
        make: Callable[[], Callable[[], Iterable[Reading]]],
        every: float,
        queue: Queue,
        clock: Clock,
        losses: Losses,
    ) -> None:
        self.name = name
        self._make = make  # on the thread: opening NVML or importing psutil is not the caller's time
        self._every = every
        self._queue = queue
        self._clock = clock
        self._losses = losses
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"rollscope-{name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            probe = self._make()
        except Exception as error:
            self._losses.say(f"{self.name} cannot be watched: {error!r}")
            return
        while not self._stop.is_set():
            began = time.monotonic()
            self._look(probe)
            self._stop.wait(max(0.05, self._every - (time.monotonic() - began)))

    def _look(self, probe: Callable[[], Iterable[Reading]]) -> None:
        try:
            readings = list(probe())
        except Exception as error:
            self._losses.say(f"{self.name} could not be read ({error!r}); it is tried again", self.name)
            return
        if self._queue.full():
            self._losses.count("host samples", "memory was full", len(readings))
            return
        about = {"time_ns": self._clock.now(), "host": os.uname().nodename}
        self._queue.bytes += ROW_BYTES * len(readings)
        self._queue.put(
            (
                ROWS,
                "host",
                [{**about, "device": device, "name": name, "value": float(value)} for device, name, value in readings],
            )
        )

    def close(self) -> None:
        self._stop.set()
        self._thread.join(0.2)  # one that hangs in a driver or on the network is left behind


def watchers(
    host: bool | float, scrape: Sequence[str], folder: Any, queue: Queue, clock: Clock, losses: Losses
) -> list[Watcher]:
    """One for the machine (`host` may be how many seconds between looks), one per endpoint."""
    from .host import probe

    every = EVERY_SECONDS if isinstance(host, bool) else float(host)
    found = [Watcher("the machine", lambda: probe(str(folder)), every, queue, clock, losses)] if host else []
    often = min(every, EVERY_SECONDS) if host else EVERY_SECONDS
    return found + [Watcher(url, partial(_reader, url), often, queue, clock, losses) for url in scrape]


def _reader(url: str) -> Callable[[], Iterable[Reading]]:
    from .scrape import Scraper

    return Scraper(url).read
