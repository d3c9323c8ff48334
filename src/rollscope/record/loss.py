"""What could not be kept: counted, written as notes of kind `loss`, and said once on stderr."""

from __future__ import annotations

import sys
import threading
from typing import Any


class Losses:
    """Counts per (what, why). Any thread may count; the drain takes what is new and writes it down."""

    def __init__(self) -> None:
        self.total: dict[tuple[str, str], int] = {}
        self._new: dict[tuple[str, str], int] = {}
        self._said: set[str] = set()
        self._lock = threading.RLock()

    def count(self, what: str, why: str, number: int = 1) -> None:
        with self._lock:
            self._new[what, why] = self._new.get((what, why), 0) + number
            self.total[what, why] = self.total.get((what, why), 0) + number
        self.say(f"{number} {what} not kept: {why}", key=f"{what}: {why}")

    def say(self, text: str, key: str | None = None) -> None:
        """Once on stderr: a training log is not ours to fill."""
        with self._lock:
            if (key or text) in self._said:
                return
            self._said.add(key or text)
        try:
            print(f"rollscope: {text}", file=sys.stderr, flush=True)
        except Exception:  # a closed stderr is not a reason to stop
            return

    def notes(self, time_ns: int) -> list[dict[str, Any]]:
        """Rows for what was counted since this was last asked."""
        with self._lock:
            new, self._new = self._new, {}
        return [
            {
                "time_ns": time_ns,
                "kind": "loss",
                "text": f"{n} {what} not kept: {why}",
                "data": {"what": what, "why": why, "count": n},
            }
            for (what, why), n in new.items()
        ]
