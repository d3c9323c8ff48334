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
from rollscope.record.caller.batch import size as bytes_of

from .alignment import align
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
        self.since = time.monotonic()  # when the oldest call that waits came
        self._done: dict[frozenset[int], Done] = {}  # by the ids of the calls of a unit

    def add(self, call: Call) -> None:
        if not self.waiting():
            self.since = time.monotonic()
        self.calls.append(call)

    def waiting(self) -> list[Call]:
        return [call for call in self.calls if not call.computed]

    def joined(self) -> Iterator[Joined]:
        """The facts that are not computed yet. Units of unknown samples come last."""
        units = give_whole_values(self._units(), self.calls)
        filled = {name: x for name, x in said(unit.own for unit in units).items() if _is_of_step(name)}
        before = dict(self._done)
        for unit in sorted(units, key=lambda unit: unit.within):
            joined = self._joined(unit, filled, self._done_of(unit, self._done if unit.within else before))
            if joined is not None:
                yield joined

    def _units(self) -> list[Unit]:
        with_samples = [call for call in self.calls if call.size is not None]
        try:
            return alone(with_samples) if len(with_samples) < 2 else align(with_samples)
        except Exception:  # values that cannot be compared: every call is on its own
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

    def _done_of(self, unit: Unit, known: Mapping[frozenset[int], Done]) -> Done:
        """What was computed of the samples of a unit; of some other unit's, if it is not known which."""
        ids = frozenset(map(id, unit.calls))
        done = reduce(or_, (done for calls, done in known.items() if unit.within or calls <= ids), Done())
        return replace(done, keys=known.get(ids, Done()).keys) if unit.within else done

    def learn(self, joined: Joined, written: Iterable[Name]) -> None:
        """Remember what was computed of the samples of a unit."""
        ids = frozenset(map(id, joined.unit.calls))
        new = Done(frozenset(joined.batch), frozenset(written))
        self._done[ids] = self._done.get(ids, Done()) | new


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

    def add(self, step: int, call: Call) -> list[int]:
        """Hold a call. Returns the steps that it makes due: earlier ones, or all if too much is held."""
        self._steps.setdefault(step, OpenStep()).add(call)
        waiting = self.waiting()
        held = sum(bytes_of(call.rows) for number in waiting for call in self._steps[number].waiting())
        return [number for number in waiting if number < step or held > HELD_BYTES]

    def waiting(self) -> list[int]:
        """The steps with calls that wait to be joined, in order."""
        return sorted(number for number, step in self._steps.items() if step.waiting())

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
        """Mark the calls of a step as computed and free what need not stay. Returns how many waited."""
        waited = self._steps[number].waiting()
        for call in waited:
            call.computed = True
        for old in [old for old in sorted(self._steps)[:-STEPS] if not self._steps[old].waiting()]:
            del self._steps[old]
        self._free()
        return len(waited)

    def _free(self) -> None:
        """Drop arrays of computed calls: those on a device, and the oldest beyond `KEPT_BYTES`."""
        calls = [call for number in sorted(self._steps) for call in self._steps[number].calls if call.computed]
        for call in calls:
            call.forget_tokens(on_device_only=True)
        kept = sum(bytes_of(call.rows) for call in calls)
        for call in calls:
            if kept <= KEPT_BYTES:
                break
            kept -= bytes_of(call.rows)
            call.forget_tokens(on_device_only=False)
            kept += bytes_of(call.rows)
