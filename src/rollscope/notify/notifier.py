"""Tells every target about one run."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rollscope.diagnose.finding import Finding

from .channel import FIRST_WAIT_SECONDS, Channel, Say
from .target import Target


class Notifier:
    """Give it the findings after every look. Nothing here waits for a target, but `close`."""

    def __init__(
        self, folder: str, run: str, name: str, targets: Sequence[Target], say: Say, wait: float = FIRST_WAIT_SECONDS
    ) -> None:
        self._channels = [Channel(folder, run, name, target, say, wait) for target in targets]

    def look(self, findings: Sequence[Finding]) -> None:
        """Tell what began and what ended since the last look."""
        for channel in self._channels:
            channel.look(findings)

    def close(self, patience: float) -> None:
        """Wait at most so many seconds for targets. What is left is recorded and sent later."""
        until = time.monotonic() + patience
        for channel in self._channels:
            channel.close(until)
