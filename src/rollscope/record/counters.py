"""Running totals (tokens, samples, episodes seen so far) that go on after a resume.

A batch knows what it adds; what came before this step is kept here, and in a small file of this writer's beside the logs, from which a
later attempt takes the totals of the step it resumes from. With several shards no process knows the whole, so none claims to.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rollscope.catalog.partial import Counter

EVERY_SECONDS = 2.0
STEPS = 5_000  # that are remembered; a resume from further back begins with the oldest of them


class Counters:
    def __init__(self, folder: Path, writer: str, attempt: int, resumed_from: int | None, alone: bool) -> None:
        self._path = folder / f"{writer}.counters.json"
        self._attempt = attempt
        self._alone = alone
        self._start = _earlier(folder, attempt, resumed_from) if attempt > 1 and alone else {}
        self._added: dict[str, dict[int, float]] = {}
        self._saved = 0.0

    def before(self, step: int) -> dict[str, float]:
        """`tokens_before=` and its kin for a batch of this step."""
        if not self._alone:
            return {}
        names = self._start.keys() | self._added.keys()
        return {f"{name}_before": self._start.get(name, 0.0) + sum(n for s, n in self._added.get(name, {}).items() if s < step) for name in names}

    def learn(self, metrics: Mapping[str, Any], step: int) -> None:
        for name, value in metrics.items():
            if isinstance(value, Counter):
                per_step = self._added.setdefault(name.rpartition("/")[2], {})
                per_step[step] = per_step.get(step, 0.0) + value.added
                if len(per_step) > STEPS:
                    oldest = min(per_step)
                    self._start[name.rpartition("/")[2]] = self._start.get(name.rpartition("/")[2], 0.0) + per_step.pop(oldest)
        if self._added and time.monotonic() - self._saved > EVERY_SECONDS:
            self.save()

    def clocks(self, step: int) -> dict[str, int]:
        """The same totals with this step, as columns of the `steps` table."""
        before = self.before(step)
        return {name: int(before[f"{name}_before"] + self._added.get(name, {}).get(step, 0.0)) for name in ("tokens", "samples") if f"{name}_before" in before}

    def save(self) -> None:
        """Aside and renamed. A disk that will not take it is the drain's to talk about."""
        if not self._alone or not self._added:
            return
        self._saved = time.monotonic()
        aside = self._path.with_suffix(".new")
        try:
            aside.write_text(
                json.dumps({"attempt": self._attempt, "start": self._start, "added": {name: sorted(steps.items()) for name, steps in self._added.items()}})
            )
            os.replace(aside, self._path)
        except OSError:
            return


def _earlier(folder: Path, attempt: int, resumed_from: int | None) -> dict[str, float]:
    """Totals up to the step that was resumed from, as the latest attempt before this one left them."""
    latest: dict[str, Any] = {"attempt": 0}
    for path in folder.glob("*.counters.json"):
        try:
            found = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        if latest["attempt"] < found.get("attempt", 0) < attempt:
            latest = found
    totals = dict(latest.get("start", {}))
    for name, steps in latest.get("added", {}).items():
        totals[name] = totals.get(name, 0.0) + sum(n for step, n in steps if resumed_from is None or step <= resumed_from)
    return totals
