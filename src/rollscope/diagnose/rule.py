"""What a rule is and what it says. One symptom a file in `rules/`; each yields findings with evidence and advice, and teaches.

A rule asks for series by our names (the first present of several alternatives); the engine hands it only defined points, so a
rule never meets NaN. Its docstring is its documentation: the first line says what it means, the rest what to look at.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Severity = Literal["bad", "watch", "info"]
Order = Literal["liveness", "signal", "tuning"]  # tuning advice is held back while something is bad
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Series:
    """The defined points of one metric, in the order of their steps."""

    step: IntArray
    value: FloatArray
    name: str = ""

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def of(cls, value: Any, name: str = "") -> Series:
        value = np.asarray(value, np.float64)
        return cls(np.arange(len(value), dtype=np.int64), value, name)


@dataclass(frozen=True, slots=True)
class NonFinite:
    """What a metric logged that is not a number one can draw."""

    name: str
    nan: int
    infinite: int
    first_step: int
    last_step: int
    count: int  # logged points in all


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, since when, with the numbers that say so."""

    step: int  # since when
    claim: str  # one sentence, without the numbers
    evidence: str  # the numbers, in words
    severity: Severity = "watch"
    until: int | None = None  # None: it is still so
    metrics: tuple[str, ...] = ()  # series that show it, the first is the evidence chart
    check: tuple[str, ...] = ()  # what to look at first, in order
    samples: str = ""  # `where` of the samples behind it
    rule: str = ""
    title: str = ""

    def json(self) -> dict[str, Any]:
        return {
            field: (list(value) if isinstance(value := getattr(self, field), tuple) else value)
            for field in self.__slots__
        }


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    title: str
    teaches: str
    order: Order
    needs: tuple[tuple[str, ...], ...]  # for each parameter: names of which the first present is taken
    optional: tuple[tuple[str, ...], ...]
    look: Callable[..., Iterator[Finding]] = field(repr=False)
    reads: Literal["series", "nonfinite"] = "series"


RULES: dict[str, Rule] = {}


def rule(
    name: str,
    *,
    needs: tuple[str | tuple[str, ...], ...] = (),
    optional: tuple[str | tuple[str, ...], ...] = (),
    order: Order = "signal",
    reads: Literal["series", "nonfinite"] = "series",
) -> Callable[[Callable[..., Iterator[Finding]]], Callable[..., Iterator[Finding]]]:
    """Register a function as a rule. Needed series come as positional arguments, optional ones may be None."""

    def enter(function: Callable[..., Iterator[Finding]]) -> Callable[..., Iterator[Finding]]:
        text = inspect.getdoc(function) or ""
        title, _, teaches = text.partition("\n\n")
        RULES[name] = Rule(
            name,
            " ".join(title.split()),
            " ".join(teaches.split()),
            order,
            _alternatives(needs),
            _alternatives(optional),
            function,
            reads,
        )
        return function

    return enter


def _alternatives(needs: tuple[str | tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return tuple((need,) if isinstance(need, str) else need for need in needs)
