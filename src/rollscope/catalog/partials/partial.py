"""Numbers that can still be merged: the reduction is the type.

A partial holds what is needed to add more data later, and merges with `+`: associatively, in any order, giving what one
pass over everything would have given. `.value` is the number people read, NaN when there was no data; `.weight` is how much it
stands on. `kind` and `state()` are what the store keeps, and `from_state` makes the partial again.

The larger ones live beside this file: `histogram.py` (quantiles), `comoments.py` (two variables), `pergroup.py` (groups that
may lie on several ranks).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from rollscope.errors import BadInput

NAN = math.nan
State = tuple[float, ...]


class Partial:
    """What every partial has. Subclasses are frozen dataclasses with `__add__`."""

    __slots__ = ()
    kind: ClassVar[str]

    @property
    def value(self) -> float:
        raise NotImplementedError

    @property
    def weight(self) -> float:
        raise NotImplementedError

    def state(self) -> State:
        raise NotImplementedError

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        return cls(*state)

    def __add__(self, other: Self) -> Self:
        raise NotImplementedError

    def __float__(self) -> float:
        return self.value


KINDS: dict[str, type[Partial]] = {}


def kind(name: str) -> Callable[[type[Any]], type[Any]]:
    """Register a partial under the word the store writes in its `kind` column."""

    def register(cls: type[Any]) -> type[Any]:
        cls.kind = name
        KINDS[name] = cls
        return cls

    return register


HOMES = (
    "histogram",
    "comoments",
    "experts",
    "per_group",
    "per_task",
    "moments",
    "at_max",
    "rate",
)  # the larger kinds, imported when one is first met


def kind_of(name: str) -> type[Partial] | None:
    """The partial that writes this word in its `kind` column; None for plain numbers and for words of a later version."""
    if name not in KINDS:
        for home in HOMES:
            importlib.import_module(f"rollscope.catalog.partials.{home}")
    return KINDS.get(name)


def from_state(kind: str, state: Sequence[float]) -> Partial:
    found = kind_of(kind)
    if found is None:
        raise BadInput(
            f"no partial is called {kind!r}; this version knows {', '.join(sorted(KINDS))}. Was the run written by a later Rollscope?"
        )
    return found.of_state(state)


@kind("mean")
@dataclass(frozen=True, slots=True)
class Mean(Partial):
    """A weighted mean: Σ w·x and Σ w."""

    total: float = 0.0
    weight: float = 0.0

    @classmethod
    def of(cls, x: Any, where: Any = True) -> Mean:
        x = np.asarray(x)
        return cls(
            float(np.sum(x, where=where, dtype=np.float64)),
            float(np.sum(np.broadcast_to(where, x.shape), dtype=np.float64)),
        )

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.weight + other.weight)

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else NAN  # no data is not zero

    def state(self) -> State:
        return (self.total, self.weight)


@kind("ratio")
@dataclass(frozen=True, slots=True)
class Ratio(Partial):
    """A quotient of two sums, such as tokens per second or a share."""

    num: float = 0.0
    den: float = 0.0

    def __add__(self, other: Ratio) -> Ratio:
        return Ratio(self.num + other.num, self.den + other.den)

    @property
    def value(self) -> float:
        return self.num / self.den if self.den else NAN

    @property
    def weight(self) -> float:
        return self.den

    def state(self) -> State:
        return (self.num, self.den)


@kind("sum")
@dataclass(frozen=True, slots=True)
class Sum(Partial):
    """A total over `count` things; over nothing it is no data, not 0."""

    total: float = 0.0
    count: float = 0.0

    @classmethod
    def of(cls, x: Any) -> Sum:
        x = np.asarray(x)
        return cls(float(np.sum(x, dtype=np.float64)), float(x.size))

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        return self.total if self.count else NAN

    @property
    def weight(self) -> float:
        return self.count

    def state(self) -> State:
        return (self.total, self.count)


@kind("counter")
@dataclass(frozen=True, slots=True)
class Counter(Partial):
    """A running total: what was counted before this step, and what every part of this step adds."""

    base: float = 0.0
    added: float = 0.0

    def __add__(self, other: Counter) -> Counter:
        return Counter(max(self.base, other.base), self.added + other.added)

    @property
    def value(self) -> float:
        return self.base + self.added

    @property
    def weight(self) -> float:
        return self.added

    def state(self) -> State:
        return (self.base, self.added)


def _chan(a: State, b: State) -> State:
    """Merge (count, mean, M2) triples: Chan, Golub and LeVeque's update, stable where Σx² - (Σx)²/n is not."""
    if not a[0] or not b[0]:
        return a if a[0] else b
    n = a[0] + b[0]
    delta = b[1] - a[1]
    if not math.isfinite(delta):
        return (n, (a[0] * a[1] + b[0] * b[1]) / n, NAN)
    return (n, a[1] + delta * (b[0] / n), a[2] + b[2] + delta * delta * (a[0] * b[0] / n))


@kind("moments")
@dataclass(frozen=True, slots=True)
class Moments(Partial):
    """Count, mean and summed squared deviation. Read as its mean; `Std` is the same state read as its spread."""

    count: float = 0.0
    mean: float = 0.0
    m2: float = 0.0

    @classmethod
    def of(cls, x: Any) -> Self:
        x = np.asarray(x, np.float64).ravel()
        if not x.size:
            return cls()
        with np.errstate(invalid="ignore"):  # infinities of both signs have no mean
            mean = float(x.mean())
        return cls(float(x.size), mean, float(np.square(x - mean).sum()) if math.isfinite(mean) else NAN)

    def __add__(self, other: Moments) -> Self:
        return type(self)(*_chan(self.state(), other.state()))

    def std(self, ddof: int = 1) -> float:
        return math.sqrt(self.m2 / (self.count - ddof)) if self.count > ddof else NAN

    @property
    def value(self) -> float:
        return self.mean if self.count else NAN

    @property
    def weight(self) -> float:
        return self.count

    def state(self) -> State:
        return (self.count, self.mean, self.m2)


@kind("std")
@dataclass(frozen=True, slots=True)
class Std(Moments):
    """Standard deviation of a sample, ddof = 1: one value has no spread, so it is NaN, not 0."""

    @property
    def value(self) -> float:
        return self.std(1)


@kind("std0")
@dataclass(frozen=True, slots=True)
class PopulationStd(Moments):
    """Standard deviation with ddof = 0, for the quantities whose definition says so."""

    @property
    def value(self) -> float:
        return self.std(0)


@kind("extremes")
@dataclass(frozen=True, slots=True)
class Extremes(Partial):
    """The lowest and the highest of `count` values. Read as the highest; `Min` and `Max` name the end they read."""

    low: float = math.inf
    high: float = -math.inf
    count: float = 0.0

    @classmethod
    def of(cls, x: Any) -> Self:
        x = np.asarray(x)
        return cls(float(x.min()), float(x.max()), float(x.size)) if x.size else cls()

    def __add__(self, other: Extremes) -> Self:
        low = self.low if math.isnan(self.low) else other.low if math.isnan(other.low) else min(self.low, other.low)
        high = (
            self.high if math.isnan(self.high) else other.high if math.isnan(other.high) else max(self.high, other.high)
        )
        return type(self)(low, high, self.count + other.count)

    @property
    def value(self) -> float:
        return self.high if self.count else NAN

    @property
    def weight(self) -> float:
        return self.count

    def state(self) -> State:
        return (self.low, self.high, self.count)


@kind("max")
@dataclass(frozen=True, slots=True)
class Max(Extremes):
    """The highest value."""


@kind("min")
@dataclass(frozen=True, slots=True)
class Min(Extremes):
    """The lowest value."""

    @property
    def value(self) -> float:
        return self.low if self.count else NAN


@kind("last")
@dataclass(frozen=True, slots=True)
class Last(Partial):
    """The latest reading: a learning rate, a version. Carries its time, so that the later one wins in any order."""

    reading: float = NAN
    time_ns: int = -1

    def __add__(self, other: Last) -> Last:
        if self.time_ns == other.time_ns:  # a tie must not depend on the order
            return self if (self.reading, 0) >= (other.reading, 0) or math.isnan(other.reading) else other
        return self if self.time_ns > other.time_ns else other

    @property
    def value(self) -> float:
        return self.reading

    @property
    def weight(self) -> float:
        return 0.0 if self.time_ns < 0 else 1.0

    def state(self) -> State:  # nanoseconds do not fit a double: whole seconds and the rest do
        return (self.reading, float(self.time_ns // 10**9), float(self.time_ns % 10**9))

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Last:
        return cls(state[0], int(state[1]) * 10**9 + int(state[2]))
