"""The `@rule` decorator and the values a rule works with. `rules/` has one file per symptom.

A rule names the series it needs by our names; of several alternatives it gets the first present.
The engine passes only defined points, so a rule never meets NaN. A rule's docstring is its
documentation: the first line says what the finding means, the rest what to look at.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .finding import Finding

Order = Literal["liveness", "signal", "tuning"]  # tuning advice is held back while something is bad
Reads = Literal["series", "nonfinite"]
Look = Callable[..., Iterator[Finding]]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Series:
    """The defined points of one metric, in step order."""

    step: IntArray
    value: FloatArray
    name: str = ""

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def of(cls, value: Any, name: str = "") -> Series:
        """A series whose steps count from 0."""
        value = np.asarray(value, np.float64)
        return cls(np.arange(len(value), dtype=np.int64), value, name)


@dataclass(frozen=True, slots=True)
class NonFinite:
    """How often, and from when to when, a metric logged NaN or infinity."""

    name: str
    nan: int
    infinite: int
    first_step: int
    last_step: int
    count: int  # all logged points, finite ones included


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    title: str
    teaches: str
    order: Order
    needs: tuple[tuple[str, ...], ...]  # one tuple per parameter: alternative names, first present wins
    optional: tuple[tuple[str, ...], ...]
    look: Look = field(repr=False)
    reads: Reads = "series"


RULES: dict[str, Rule] = {}


def rule(
    name: str,
    *,
    needs: tuple[str | tuple[str, ...], ...] = (),
    optional: tuple[str | tuple[str, ...], ...] = (),
    order: Order = "signal",
    reads: Reads = "series",
) -> Callable[[Look], Look]:
    """Register a function as a rule.

    It takes its needed series as positional arguments, then its optional ones, which may be None.
    """

    def register(look: Look) -> Look:
        title, _, teaches = (inspect.getdoc(look) or "").partition("\n\n")
        title, teaches = " ".join(title.split()), " ".join(teaches.split())
        RULES[name] = Rule(name, title, teaches, order, _alternatives(needs), _alternatives(optional), look, reads)
        return look

    return register


def _alternatives(needs: tuple[str | tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return tuple((need,) if isinstance(need, str) else need for need in needs)
