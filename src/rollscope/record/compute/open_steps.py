"""The steps whose batches may still get more facts: calls wait here to be joined.

`add` takes a call, `joined` gives the batches that are ready to be computed. A call waits until its
step is over, at most `HOLD_SECONDS`, and within `HELD_BYTES`. Computed calls stay known for the
newest `STEPS` steps: what comes later joins them and adds the metrics that were missing. Their
arrays stay too, up to `KEPT_BYTES` on the host; on a device nothing stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_
from typing import Any

from rollscope.catalog.compute.reads import STEP_LEVELS, entries, entries_of_step, entries_reading
from rollscope.catalog.keys import KEYS

from .alignment import Alignment
from .call import Call
from .unit import Unit, alone, give_whole_values, said

HOLD_SECONDS = 0.5
HELD_BYTES = 256 << 20
KEPT_BYTES = 64 << 20
STEPS = 8
Name = tuple[str | None, str]  # environment and name of a metric


@dataclass(slots=True, eq=False)
class Done:
    """What was computed of some samples: from which keys, and which metrics were written."""

    keys: frozenset[str] = frozenset()
    written: frozenset[Name] = frozenset()

    def __or__(self, other: Done) -> Done:
        return Done(self.keys | other.keys, self.written | other.written)


@dataclass(slots=True, eq=False)
class Joined:
    """The facts of some samples, ready to be computed, and the metrics that are wanted of them."""

    unit: Unit
    batch: dict[str, Any]
    waits_for: list[Call]  # calls with values on a device
    names: frozenset[str] | None  # entries to compute; None for all
    done: Done  # what was computed of these samples before

    def run(self, job: Callable[[], Any]) -> Any:
        """Run a job once the copies of all its calls are complete."""
        for call in self.waits_for:
            job = partial(call.ready.compute, job)
        return job()

    @property
    def time_ns(self) -> int:
        return max(call.time_ns for call in self.unit.calls)


class OpenStep:
    """The calls of one step, and what was computed of them."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.waiting: list[Call] = []  # those that are not computed yet
        self.since = 0.0  # when the oldest of them came
        self._aligned: Alignment | None = Alignment()  # None if the calls cannot be compared
        self._done: dict[frozenset[int], Done] = {}  # by the ids of the calls of a unit
        self._done_of_call: dict[int, list[frozenset[int]]] = {}

    def add(self, call: Call) -> None:
        if not self.waiting:
            self.since = time.monotonic()
        self.calls.append(call)
        self.waiting.append(call)

    def joined(self) -> Iterator[Joined]:
        """The facts that are not computed yet. Units of unknown samples come last."""
        units = give_whole_values(self._units(), self.calls)
        filled = {name: x for name, x in said(unit.own for unit in units).items() if _is_of_step(name)}
        before = {id(unit): self._done_of(unit) for unit in units}
        for unit in sorted(units, key=lambda unit: unit.within):
            joined = self._joined(unit, filled, self._done_anywhere(unit) if unit.within else before[id(unit)])
            if joined is not None:
                yield joined

    def _units(self) -> list[Unit]:
        with_samples = [call for call in self.calls if call.size is not None]
        try:
            for call in self.waiting:
                if call.size is not None and self._aligned is not None:
                    self._aligned.add(call)
            return alone(with_samples) if self._aligned is None or len(with_samples) < 2 else self._aligned.units()
        except Exception:  # values that cannot be compared: every call is on its own
            self._aligned = None
            return alone(with_samples)

    def _joined(self, unit: Unit, filled: Mapping[str, Any], done: Done) -> Joined | None:
        whole = {**filled, **unit.common(), **unit.own}
        keys = frozenset(whole).union(*(call.rows for call in unit.calls))
        fresh = (keys - done.keys).union(*(call.rows for call in unit.calls if not call.computed))
        if not fresh:
            return None
        waits_for = [call for call in self.calls if call.has_device_values and (call in unit.calls or call.whole)]
        names = wanted(fresh if done.keys else None, frozenset(whole) - frozenset(unit.own))
        joined = Joined(unit, whole, waits_for, names, done)
        rows = joined.run(unit.rows)
        joined.batch = rows | {name: x for name, x in whole.items() if name not in rows}
        return joined

    def _done_of(self, unit: Unit) -> Done:
        """What was computed of the samples of a unit, when it was in fewer calls."""
        ids = frozenset(map(id, unit.calls))
        units = {calls for id in ids for calls in self._done_of_call.get(id, ()) if calls <= ids}
        return reduce(or_, (self._done[calls] for calls in units), Done())

    def _done_anywhere(self, unit: Unit) -> Done:
        """The keys that were computed of a unit, and the metrics that were written of any."""
        own = self._done.get(frozenset(map(id, unit.calls)), Done())
        return replace(reduce(or_, self._done.values(), Done()), keys=own.keys)

    def learn(self, joined: Joined, written: Iterable[Name]) -> None:
        """Remember what was computed of the samples of a unit."""
        ids = frozenset(map(id, joined.unit.calls))
        for call in ids if ids not in self._done else ():
            self._done_of_call.setdefault(call, []).append(ids)
        new = Done(frozenset(joined.batch), frozenset(written))
        self._done[ids] = self._done.get(ids, Done()) | new

    def let_go(self) -> int:
        """Mark all calls as computed. Returns how many waited."""
        waited, self.waiting = self.waiting, []
        for call in waited:
            call.computed = True
        return len(waited)


def wanted(fresh: frozenset[str] | None, foreign: frozenset[str]) -> frozenset[str] | None:
    """The entries to compute: all, or those that read fresh keys.

    An entry of the step alone is computed with the unit that was told its keys, once.
    """
    elsewhere = {name for name, read in entries_of_step().items() if not read.isdisjoint(foreign)}
    if fresh is None and not elsewhere:
        return None
    return (entries() if fresh is None else entries_reading(fresh)) - elsewhere


def _is_of_step(name: str) -> bool:
    return name in KEYS and KEYS[name].level in STEP_LEVELS


class OpenSteps:
    """The open steps by number. Used by one thread, the worker's."""

    def __init__(self) -> None:
        self._steps: dict[int, OpenStep] = {}
        self._held = 0  # bytes of calls that wait

    def add(self, step: int, call: Call) -> list[int]:
        """Hold a call. Returns the steps that are due: earlier ones, or all if too much is held."""
        self._steps.setdefault(step, OpenStep()).add(call)
        self._held += call.bytes
        return [number for number in self.waiting() if number < step or self._held > HELD_BYTES]

    def waiting(self) -> list[int]:
        """The steps with calls that wait to be joined, in order."""
        return sorted(number for number, step in self._steps.items() if step.waiting)

    def seconds_left(self) -> float | None:
        """How long until a step is due by its age; None if no call waits."""
        ages = [time.monotonic() - self._steps[number].since for number in self.waiting()]
        return max(0.0, HOLD_SECONDS - max(ages)) if ages else None

    def due(self) -> list[int]:
        """The steps that have waited long enough."""
        now = time.monotonic()
        return [number for number in self.waiting() if now - self._steps[number].since >= HOLD_SECONDS]

    def get(self, number: int) -> OpenStep | None:
        return self._steps.get(number)

    def let_go(self, number: int) -> int:
        """Mark the calls of a step as computed and free what need not stay.

        Returns how many waited.
        """
        step = self._steps[number]
        self._held -= sum(call.bytes for call in step.waiting)
        for call in step.waiting:
            call.forget_tokens(on_device_only=True)
        waited = step.let_go()
        for old in [old for old in sorted(self._steps)[:-STEPS] if not self._steps[old].waiting]:
            del self._steps[old]
        self._free()
        return waited

    def _free(self) -> None:
        """Drop arrays of computed calls beyond `KEPT_BYTES`, the oldest first."""
        calls = [call for number in sorted(self._steps) for call in self._steps[number].calls if call.computed]
        kept = sum(call.bytes for call in calls)
        for call in calls:
            if kept <= KEPT_BYTES:
                break
            kept -= call.bytes
            call.forget_tokens(on_device_only=False)
            kept += call.bytes
