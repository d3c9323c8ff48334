"""Threads that read the machine and inference engines, and queue the readings as `host` rows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from rollscope.record.caller.queue import Queue, Rows
from rollscope.record.clock import Clock
from rollscope.record.loss import Losses

Reading = tuple[str, str, float]  # device, quantity, value
Probe = Callable[[], Iterable[Reading]]
EVERY_SECONDS = 5.0
ROW_BYTES = 150


class Watcher:
    """Calls a probe every few seconds. A failure is reported once, and the probe is called again.

    The probe is made on the thread, because opening NVML or importing psutil takes time.
    """

    def __init__(
        self, name: str, make_probe: Callable[[], Probe], every: float, queue: Queue, clock: Clock, losses: Losses
    ) -> None:
        self.name = name
        self._make_probe = make_probe
        self._every = every
        self._queue = queue
        self._clock = clock
        self._losses = losses
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"rollscope-{name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            probe = self._make_probe()
        except Exception as error:
            self._losses.say(f"{self.name} cannot be watched: {error!r}")
            return
        while not self._stop.is_set():
            began = time.monotonic()
            self._read(probe)
            self._stop.wait(max(0.05, self._every - (time.monotonic() - began)))

    def _read(self, probe: Probe) -> None:
        try:
            readings = list(probe())
        except Exception as error:
            self._losses.say(f"{self.name} could not be read ({error!r}); trying again", self.name)
            return
        if self._queue.full():
            self._losses.count("host samples", "memory was full", len(readings))
            return
        common = {"time_ns": self._clock.now(), "host": os.uname().nodename}
        rows = [{**common, "device": device, "name": name, "value": float(value)} for device, name, value in readings]
        self._queue.bytes += ROW_BYTES * len(readings)
        self._queue.put(Rows("host", rows))

    def close(self) -> None:
        """Stop. A probe that hangs in a driver or on the network is left behind."""
        self._stop.set()
        self._thread.join(0.2)


def watchers(
    host: bool | float, scrape: Sequence[str], folder: Path, queue: Queue, clock: Clock, losses: Losses
) -> list[Watcher]:
    """One watcher for the machine (`host` may be seconds between readings), one per endpoint."""
    from .host import probe

    every = EVERY_SECONDS if isinstance(host, bool) else float(host)
    machine = [Watcher("the machine", lambda: probe(str(folder)), every, queue, clock, losses)] if host else []
    engine_every = min(every, EVERY_SECONDS) if host else EVERY_SECONDS
    engines = [Watcher(url, partial(_engine_probe, url), engine_every, queue, clock, losses) for url in scrape]
    return machine + engines


def _engine_probe(url: str) -> Probe:
    from .scrape import Scraper

    return Scraper(url).read
