"""Running totals (tokens, samples, episodes) that survive a resume, for any number of shards.

A batch knows what it adds. What came before its step is the sum of two parts: what the run had when
this attempt began, and what this process has added since. The first part is the same for every
shard: it comes from small files that the writers of earlier attempts left beside their logs. What
the other shards have added since is put in on reading, where a total is never less than the one
before it plus what was added.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollscope.catalog.partials.partial import Counter
from rollscope.record.identity import Attempt

EVERY_SECONDS = 2.0
STEPS = 5_000  # remembered one by one; a resume from further back counts the older ones too
Totals = dict[str, float]


@dataclass(slots=True)
class _Counted:
    """What one writer has counted: by step, and as one sum for steps too long ago."""

    attempt: int
    first: int | None = None  # its first step
    folded: Totals = field(default_factory=dict)
    added: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, name: str, step: int, number: float) -> None:
        self.first = step if self.first is None else min(self.first, step)
        steps = self.added.setdefault(name, {})
        steps[step] = steps.get(step, 0.0) + number
        if len(steps) > STEPS:
            self.folded[name] = self.folded.get(name, 0.0) + steps.pop(min(steps))

    def before(self, step: int) -> Totals:
        return {
            name: self.folded.get(name, 0.0) + sum(number for at, number in steps.items() if at < step)
            for name, steps in self.added.items()
        }


class Counters:
    """The totals of the run, as far as this writer knows them."""

    def __init__(self, attempt: Attempt, writer: str, alone: bool) -> None:
        self._path = attempt.folder / f"{writer}.counters.json"
        self._attempt = attempt
        self._alone = alone  # the only shard: its totals are the run's clocks
        self._own = _Counted(attempt.number)
        self._common: Totals | None = None
        self._saved = 0.0

    def common(self, step: int) -> Totals:
        """What the run had counted when this attempt began with `step`. Equal for all shards."""
        if self._common is None:
            self._common = _totals_before(self._attempt, step)
        return self._common

    def before(self, step: int) -> Totals:
        """`tokens_before` and the like for a batch of this step."""
        common, own = self.common(step), self._own.before(step)
        return {f"{name}_before": common.get(name, 0.0) + own.get(name, 0.0) for name in common.keys() | own.keys()}

    def learn(self, metrics: Mapping[str, Any], step: int) -> None:
        """Add the counters of a batch."""
        for name, value in metrics.items():
            if isinstance(value, Counter):
                self._own.add(name.rpartition("/")[2], step, value.added)
        if self._own.added and time.monotonic() - self._saved > EVERY_SECONDS:
            self.save()

    def clocks(self, step: int) -> dict[str, int]:
        """The totals up to and with this step, as columns of `steps`.

        Empty if there are other shards.
        """
        if not self._alone:
            return {}
        totals = self.before(step + 1)
        return {name: int(totals[f"{name}_before"]) for name in ("tokens", "samples") if f"{name}_before" in totals}

    def save(self) -> None:
        """Write the counts under another name and rename the file.

        The drain reports a failing disk.
        """
        if not self._own.added:
            return
        self._saved = time.monotonic()
        own, aside = self._own, self._path.with_suffix(".new")
        added = {name: sorted(steps.items()) for name, steps in own.added.items()}
        facts = {"attempt": own.attempt, "first": own.first, "folded": own.folded, "added": added}
        try:
            aside.write_text(json.dumps(facts))
            os.replace(aside, self._path)
        except OSError:
            return


def _totals_before(attempt: Attempt, first: int) -> Totals:
    """Totals before this attempt's first step. An attempt counts up to where a later one begins."""
    earlier = [counted for counted in _read(attempt.folder) if counted.attempt < attempt.number]
    begins = {attempt.number: first if attempt.resumed_from is None else attempt.resumed_from + 1}
    for counted in earlier:
        if counted.first is not None:
            begins[counted.attempt] = min(counted.first, begins.get(counted.attempt, counted.first))
    totals: Totals = {}
    for counted in earlier:
        end = min(step for number, step in begins.items() if number > counted.attempt)
        _add(totals, counted.before(end))
    if attempt.parent is not None and attempt.parent_step is not None:
        for counted in _read(attempt.folder.parent / attempt.parent):
            _add(totals, counted.before(attempt.parent_step + 1))
    return totals


def _add(totals: Totals, more: Totals) -> None:
    for name, number in more.items():
        totals[name] = totals.get(name, 0.0) + number


def _read(folder: Path) -> Iterator[_Counted]:
    for path in sorted(folder.glob("*.counters.json")):
        try:
            facts = json.loads(path.read_text())
            added = {str(name): {int(step): float(n) for step, n in steps} for name, steps in facts["added"].items()}
            yield _Counted(int(facts["attempt"]), facts.get("first"), dict(facts.get("folded", {})), added)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # cut short: the logs are right anyway
            continue
