"""The `@rule` decorator. `rules/` has one file per symptom.

A rule declares what it needs: series by our names, or a part of the run from `needs.py`. Of several
alternatives it gets the first present. What is missing makes the rule skip the run, and the doctor
says what it needs. Keyword-only parameters are thresholds, which a project can set. A rule's
docstring is its documentation: the first line says what the finding means, the rest what to look
at.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rollscope.diagnose.curves.series import FloatArray, IntArray, NonFinite, Series

from .finding import Finding
from .needs import Need, need_of

__all__ = ["RULES", "FloatArray", "IntArray", "NonFinite", "Order", "Rule", "Series", "rule"]
Order = Literal["liveness", "environment", "waste", "signal", "tuning"]  # tuning waits while something is bad
ORDERS: tuple[str, ...] = get_args(Order)
Look = Callable[..., Iterator[Finding]]
Given = str | tuple[str, ...] | Need


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    title: str
    teaches: str
    order: Order
    needs: tuple[Need, ...]  # one per parameter
    optional: tuple[Need, ...]
    look: Look = field(repr=False)
    thresholds: Mapping[str, float] = field(default_factory=dict)


RULES: dict[str, Rule] = {}


def rule(
    name: str, *, needs: tuple[Given, ...] = (), optional: tuple[Given, ...] = (), order: Order | None = None
) -> Callable[[Look], Look]:
    """Register a function as a rule.

    It takes what it needs as positional arguments, then what is optional, which may be None. Its
    order is the room that it lives in, unless it is given; a rule elsewhere is about the signal.
    """

    def register(look: Look) -> Look:
        RULES[name] = make(name, look, needs, optional, order)
        return look

    return register


def make(
    name: str, look: Look, needs: tuple[Given, ...], optional: tuple[Given, ...] = (), order: Order | None = None
) -> Rule:
    title, _, teaches = (inspect.getdoc(look) or "").partition("\n\n")
    title, teaches = " ".join(title.split()), " ".join(teaches.split())
    needed, extra = (tuple(need_of(given) for given in some) for some in (needs, optional))
    return Rule(name, title, teaches, order or _room(look), needed, extra, look, _thresholds(look))


def _room(look: Look) -> Order:
    room = ["", *look.__module__.split(".")][-2]  # a room that is no order holds rules about the signal
    return room if room in ORDERS else "signal"  # type: ignore[return-value]


def _thresholds(look: Look) -> dict[str, float]:
    """The keyword-only parameters that have a number as default."""
    parameters: Any = inspect.signature(look).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and isinstance(p.default, int | float)}
