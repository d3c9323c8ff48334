"""When a training ends before its last step: its seconds are over, or somebody asked it to stop."""

from __future__ import annotations

import math
import time

from rollscope.record.run import Run

from .config import RunConfig
from .progress import Progress


class Limit:
    """Begins with the loop. A loop makes one step at least, however slow the machine is."""

    def __init__(self, run: Run, settings: RunConfig) -> None:
        self.run, self.settings = run, settings
        self.until = time.perf_counter() + (settings.seconds or math.inf)
        self.reached = False

    def look(self, now: Progress) -> Progress:
        """The progress of a step, which says if the training ends short with it."""
        late = time.perf_counter() > self.until
        self.reached = self.run.should_stop(now.step) or late
        if late and now.step < now.steps:
            now.short = self._short(now)
            self.run.note(now.short)
        return now

    def _short(self, now: Progress) -> str:
        seconds = f"{self.settings.seconds:g} seconds"
        return f"stopped after {now.step:,} of {now.steps:,} steps, because its {seconds} (run.seconds) were over"
