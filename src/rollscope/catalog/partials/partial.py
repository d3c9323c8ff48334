"""Numbers that can still be merged: the reduction is the type.

Partials merge with `+`, associatively and in any order. The result equals one pass over all data.
`.value` is the number people read, NaN without data; `.weight` says how much data it stands on.
The store writes `kind` and `state()`; `from_state` rebuilds the partial from them.

The larger kinds have files beside this one, such as `moments.py` (mean and spread), `histogram.py`
(quantiles), `comoments.py` (two variables) and `per_group.py` (groups that lie on several ranks).
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
    """The base of all partials. Subclasses are frozen dataclasses with `__add__`."""

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

    def broken(self) -> Self:
        """The same with a value of NaN, because an input was NaN; without data, the same."""
        return self

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


HOMES = (  # modules of the larger kinds; `kind_of` imports them on demand, the lightest first
    "moments",
    "at_max",
    "rate",
    "comoments",
    "histogram",
    "experts",
    "per_group",
    "per_run",
    "per_task",
)


def kind_of(name: str) -> type[Partial] | None:
    """Return the partial stored under this word.

    Returns None for plain numbers and for words that a later version wrote.
    """
    for home in HOMES:
        if name in KINDS:
            break
        importlib.import_module(f"rollscope.catalog.partials.{home}")
    return KINDS.get(name)


def from_state(kind: str, state: Sequence[float]) -> Partial:
    """Rebuild a partial from its stored word and numbers. Raises BadInput for an unknown word."""
    partial = kind_of(kind)
    if partial is None:
        known = ", ".join(sorted(KINDS))
        raise BadInput(
            f"no partial is called {kind!r}; this version knows {known}. Was the run written by a later Rollscope?"
        )
    return partial.of_state(state)


@kind("mean")
@dataclass(frozen=True, slots=True)
class Mean(Partial):
    """A weighted mean: Σ w·x and Σ w."""

    total: float = 0.0
    weight: float = 0.0

    @classmethod
    def of(cls, x: Any, where: Any = True) -> Mean:
        x = np.asarray(x)
        weight = np.sum(np.broadcast_to(where, x.shape), dtype=np.float64)
        return cls(float(np.sum(x, where=where, dtype=np.float64)), float(weight))

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.weight + other.weight)

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else NAN  # no data is not zero

    def broken(self) -> Mean:
        return Mean(NAN if self.weight else self.total, self.weight)

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

    def broken(self) -> Ratio:
        return Ratio(NAN if self.den else self.num, self.den)

    def state(self) -> State:
        return (self.num, self.den)


@kind("sum")
@dataclass(frozen=True, slots=True)
class Sum(Partial):
    """A total over `count` things. Over no things it is NaN, not 0."""

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
    """A running total: `base` from before this step, `added` by all parts of this step."""

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


@kind("extremes")
@dataclass(frozen=True, slots=True)
class Extremes(Partial):
    """The lowest and highest of `count` values. The value is the highest; `Min` reads the lowest.

    A NaN among the values stays NaN after any merge.
    """

    low: float = math.inf
    high: float = -math.inf
    count: float = 0.0

    @classmethod
    def of(cls, x: Any) -> Self:
        x = np.asarray(x)
        return cls(float(x.min()), float(x.max()), float(x.size)) if x.size else cls()

    def __add__(self, other: Extremes) -> Self:
        low = self.low if math.isnan(self.low) or self.low <= other.low else other.low
        high = self.high if math.isnan(self.high) or self.high >= other.high else other.high
        return type(self)(low, high, self.count + other.count)

    @property
    def value(self) -> float:
        return self.high if self.count else NAN

    @property
    def weight(self) -> float:
        return self.count

    def broken(self) -> Self:
        return type(self)(NAN, NAN, self.count) if self.count else self

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
    """The latest reading, such as a learning rate. Its time lets the later one win in any order."""

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

    def state(self) -> State:
        """Whole seconds and the rest, because a time in nanoseconds does not fit a double."""
        return (self.reading, float(self.time_ns // 10**9), float(self.time_ns % 10**9))

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Last:
        return cls(state[0], int(state[1]) * 10**9 + int(state[2]))
