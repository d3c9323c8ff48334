"""Tells every target about one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from rollscope.diagnose.finding import Finding

from .channel import FIRST_WAIT_SECONDS, Channel, Say
from .target import Target

HOLDS = 5  # steps without it after which a finding counts as over


class Notifier:
    """Give it the findings after every look. Nothing here waits for a target, but `close`."""

    def __init__(
        self, folder: str, run: str, name: str, targets: Sequence[Target], say: Say, wait: float = FIRST_WAIT_SECONDS
    ) -> None:
        self._channels = [Channel(folder, run, name, target, say, wait) for target in targets]

    def look(self, findings: Sequence[Finding], step: int) -> None:
        """Tell what began and what ended since the last look; `step` is the run's last one.

        What was still there a few steps ago has not ended.
        """
        recent = [replace(f, until=None) if f.until is not None and f.until > step - HOLDS else f for f in findings]
        for channel in self._channels:
            channel.look(recent)

    def close(self, patience: float) -> None:
        """Wait at most so many seconds for targets. What is left is recorded and sent later."""
        until = time.monotonic() + patience
        for channel in self._channels:
            channel.close(until)
