"""Which metrics a batch supports, and in which order to compute them.

Token metrics run block by block; everything that reads only samples and step values runs once, afterwards, on the whole batch. Between the two
stand row quantities: one value per sample made from its tokens, collected over the blocks. A plan depends only on which keys
are there, so it is made once per kind of batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rollscope.catalog.spec import DERIVED, METRICS, Metric

from .inputs import TOKEN_AXES, TWINS, is_row, is_token, parameters, parse


@dataclass(frozen=True, slots=True)
class Given:
    """What a batch has: hashable, so that plans are kept."""

    tokens: frozenset[str]
    per_sample: frozenset[str]  # token keys given once per sample
    samples: frozenset[str]
    steps: frozenset[str]
    axes: frozenset[str]  # token axes that have a mask or need none
    one_mask: bool = True  # tokens in the loss are the tokens the policy sampled


@dataclass(frozen=True, slots=True)
class Step:
    """One call while a block is walked through; `free` are the values nobody needs after it."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[tuple[str, str], ...]  # (parameter of the function, value to pass)
    entry: Metric | None = None
    free: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()
    direct: Callable[..., Any] | None = (
        None  # to be called with the arguments by position, where none is left out between two others
    )
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    block: tuple[Step, ...]
    rows: tuple[str, ...]  # row quantities the sample metrics read
    sample: tuple[Metric, ...]
    early: tuple[str, ...] = field(default=())  # sample quantities that token metrics read


@lru_cache(maxsize=64)
def plan_for(given: Given, names: frozenset[str] | None = None) -> Plan:
    return _Planner(given).plan(
        [m for m in METRICS.values() if m.define is not None and (names is None or m.name in names)]
    )


class _Planner:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Whether a parameter can be had from this batch."""
        if name not in self.known:
            self.known[name] = False  # a quantity derived from itself is not to be had
            self.known[name] = self.is_raw(name) or (name in DERIVED and self.can_call(DERIVED[name]))
        return self.known[name]

    def is_raw(self, name: str) -> bool:
        stem, axis = parse(name)
        if axis in TOKEN_AXES:
            if stem == "mask" and self.given.one_mask:
                return False  # a mask says nothing about the tokens it selects itself
            return axis in self.given.axes and (
                stem == "rows" or stem in self.given.tokens or (stem in self.given.per_sample and bool(self.given.axes))
            )
        if axis == "S":
            return stem in self.given.samples or stem in self.given.per_sample
        return stem in self.given.steps

    def can_call(self, function: Callable[..., Any]) -> bool:
        """All it must have is there; a function that could do without each of its inputs needs one of them."""
        wanted = parameters(function)
        if wanted and all(optional for _, optional in wanted):
            return any(self.has(name) for name, _ in wanted)
        return all(optional or self.has(name) for name, optional in wanted)

    def plan(self, metrics: Collection[Metric]) -> Plan:
        possible = [m for m in metrics if m.define is not None and self.can_call(m.define)]
        in_blocks = [m for m in possible if m.define and any(is_token(p) for p, _ in parameters(m.define))]
        in_samples = [m for m in possible if m not in in_blocks]
        rows = sorted({row for m in in_samples for row in self.row_leaves(m.define)})  # type: ignore[arg-type]
        calls: dict[str, Step] = {}
        for m in in_blocks:
            self.schedule(m.name, m.define, calls, m)  # type: ignore[arg-type]
        for row in rows:
            self.schedule(row, DERIVED[row], calls)
        early = sorted(
            {
                name
                for step in calls.values()
                for _, name in step.arguments
                if name in DERIVED and not is_token(name) and not is_row(name) and not self.is_raw(name)
            }
        )
        return Plan(
            _with_frees(list(calls.values()), keep=set(rows) | set(early)), tuple(rows), tuple(in_samples), tuple(early)
        )

    def row_leaves(self, function: Callable[..., Any]) -> set[str]:
        found: set[str] = set()
        for name, _ in parameters(function):
            if self.is_raw(name) or not self.has(name):
                continue
            found |= {name} if is_row(name) else self.row_leaves(DERIVED[name])
        return found

    def twin(self, name: str) -> str:
        """Where both masks are one, what is asked on the loss tokens is what is there on the sampled ones."""
        if not self.given.one_mask or parse(name)[1] != "M":
            return name
        return f"{parse(name)[0]}_A" if self.is_raw(name) else TWINS.get(name, name)

    def schedule(
        self, name: str, function: Callable[..., Any], calls: dict[str, Step], entry: Metric | None = None
    ) -> None:
        if name in calls:
            return
        present = tuple((p, self.twin(p)) for p, _ in parameters(function) if self.has(p))
        for _, argument in present:
            if not self.is_raw(argument) and (is_token(argument) or is_row(argument)):
                self.schedule(argument, DERIVED[argument], calls)
        calls[name] = Step(name, function, present, entry)


def _with_frees(steps: list[Step], keep: set[str]) -> tuple[Step, ...]:
    last = {value: i for i, step in enumerate(steps) for _, value in step.arguments}
    free: dict[int, list[str]] = {}
    for value, i in last.items():
        if value not in keep and parse(value)[1] and not value.startswith("rows_"):
            free.setdefault(i, []).append(value)
    return tuple(
        Step(
            s.name,
            s.function,
            s.arguments,
            s.entry,
            tuple(free.get(i, ())),
            frozenset(name for _, name in s.arguments),
            _direct(s),
            tuple(name for _, name in s.arguments),
        )
        for i, s in enumerate(steps)
    )


def _direct(step: Step) -> Callable[..., Any] | None:
    asked = [p for p, _ in parameters(step.function)]
    by_position = [p for p, _ in step.arguments] == asked[: len(step.arguments)]
    return getattr(step.function, "plain", step.function) if by_position else None


def token_axes(keys: Collection[str], every_position: bool) -> frozenset[str]:
    """A without action_mask is the mask, else every valid token, else every position; V needs its own mask, or rows that carry no padding."""
    axes = {"A", "M"}
    if "valid_mask" in keys or every_position:
        axes.add("V")
    return frozenset(axes)
