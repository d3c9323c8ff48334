"""Running totals (tokens, samples, episodes seen so far) that go on after a resume, for any number of shards.

A batch knows what it adds. What came before its step is what the run had when this attempt began (the same for every shard, from small files that the
writers of earlier attempts left beside their logs) and what this process has added since; what the other shards have added since is put in on reading,
where a total is never less than the one before plus what was added to it.
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
from rollscope.record.identity import Place

EVERY_SECONDS = 2.0
STEPS = 5_000  # that are remembered one by one; a resume from further back counts the older ones too
Totals = dict[str, float]


@dataclass(slots=True)
class _Counted:
    """What one writer has counted: by step, and in one sum what is too long ago."""

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
            name: self.folded.get(name, 0.0) + sum(n for at, n in steps.items() if at < step)
            for name, steps in self.added.items()
        }


class Counters:
    def __init__(self, place: Place, writer: str, alone: bool) -> None:
        self._path = place.folder / f"{writer}.counters.json"
        self._place = place
        self._alone = alone  # the only shard: what it knows are the run's clocks
        self._own = _Counted(place.attempt)
        self._common: Totals | None = None
        self._saved = 0.0

    def common(self, step: int) -> Totals:
        """What the run had counted when this attempt began, at its first step: the same for every shard."""
        if self._common is None:
            self._common = _earlier(self._place, step)
        return self._common

    def before(self, step: int) -> Totals:
        """`tokens_before=` and its kin for a batch of this step."""
        common, own = self.common(step), self._own.before(step)
        return {f"{name}_before": common.get(name, 0.0) + own.get(name, 0.0) for name in common.keys() | own.keys()}

    def learn(self, metrics: Mapping[str, Any], step: int) -> None:
        for name, value in metrics.items():
            if isinstance(value, Counter):
                self._own.add(name.rpartition("/")[2], step, value.added)
        if self._own.added and time.monotonic() - self._saved > EVERY_SECONDS:
            self.save()

    def clocks(self, step: int) -> dict[str, int]:
        """The same totals with this step, as columns of the `steps` table. Of several shards none knows them."""
        if not self._alone:
            return {}
        with_step = self.before(step + 1)
        return {
            name: int(with_step[f"{name}_before"]) for name in ("tokens", "samples") if f"{name}_before" in with_step
        }

    def save(self) -> None:
        """Aside and renamed. A disk that will not take it is the drain's to talk about."""
        if not self._own.added:
            return
        self._saved = time.monotonic()
        own, aside = self._own, self._path.with_suffix(".new")
        added = {name: sorted(steps.items()) for name, steps in own.added.items()}
        try:
            aside.write_text(
                json.dumps({"attempt": own.attempt, "first": own.first, "folded": own.folded, "added": added})
            )
            os.replace(aside, self._path)
        except OSError:
            return


def _earlier(place: Place, first: int) -> Totals:
    """Totals before this attempt's first step, over all that earlier attempts counted and later ones did not take over."""
    found = [counted for counted in _read(place.folder) if counted.attempt < place.attempt]
    begins = {place.attempt: first if place.resumed_from is None else place.resumed_from + 1}
    for counted in found:
        if counted.first is not None:
            begins[counted.attempt] = min(counted.first, begins.get(counted.attempt, counted.first))
    totals: Totals = {}
    for counted in found:
        end = min(step for attempt, step in begins.items() if attempt > counted.attempt)
        _put(totals, counted.before(end))
    if place.parent is not None and place.parent_step is not None:
        for counted in _read(place.folder.parent / place.parent):
            _put(totals, counted.before(place.parent_step + 1))
    return totals


def _put(totals: Totals, more: Totals) -> None:
    for name, number in more.items():
        totals[name] = totals.get(name, 0.0) + number


def _read(folder: Path) -> Iterator[_Counted]:
    for path in sorted(folder.glob("*.counters.json")):
        try:
            said = json.loads(path.read_text())
            added = {str(name): {int(step): float(n) for step, n in steps} for name, steps in said["added"].items()}
            yield _Counted(int(said["attempt"]), said.get("first"), dict(said.get("folded", {})), added)
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ):  # cut short: what is in the logs is right all the same
            continue
