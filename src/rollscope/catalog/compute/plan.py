"""Which metrics a batch supports, and in which order to compute them.

Token metrics run block by block. Metrics that read only samples and step values run once,
afterwards, on the whole batch. Row quantities connect the two: one value per sample, made from its
tokens and collected over the blocks. A plan depends only on the keys of a batch, so it is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from rollscope.catalog.spec import DERIVED, METRICS, Metric

from .inputs import MASK_OF, TOKEN_AXES, TWINS, is_row, is_token, parameters, parse


@dataclass(frozen=True, slots=True)
class Given:
    """The keys of a batch by level. Hashable, because plans are cached by it."""

    tokens: frozenset[str]
    per_sample: frozenset[str]  # token keys given once per sample
    samples: frozenset[str]
    steps: frozenset[str]
    axes: frozenset[str]  # token axes with a mask, or that need none
    one_mask: bool = True  # the tokens in the loss are the tokens the policy sampled


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a definition for a block. `free` are the values with no later reader."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[tuple[str, str], ...]  # (parameter of the function, value to pass)
    entry: Metric | None = None
    free: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()
    direct: Callable[..., Any] | None = None  # the same by position, if no argument is left out
    names: tuple[str, ...] = ()  # the values to pass by position


@dataclass(frozen=True, slots=True)
class Plan:
    block: tuple[Step, ...]
    rows: tuple[str, ...]  # row quantities the sample metrics read
    sample: tuple[Metric, ...]
    early: tuple[str, ...] = field(default=())  # sample quantities that token metrics read
    tokens: Mapping[str, frozenset[str]] = field(default_factory=dict)  # entry -> token arrays it cannot do without
    watched: frozenset[str] = frozenset()  # all of these


@lru_cache(maxsize=64)
def plan_for(given: Given, names: frozenset[str] | None = None) -> Plan:
    entries = [m for m in METRICS.values() if m.define is not None and (names is None or m.name in names)]
    return _Planner(given).plan(entries)


class _Planner:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Whether this batch can supply a parameter."""
        if name not in self.known:
            self.known[name] = False  # a quantity cannot be derived from itself
            self.known[name] = self.is_raw(name) or (name in DERIVED and self.can_call(DERIVED[name]))
        return self.known[name]

    def is_raw(self, name: str) -> bool:
        stem, axis = parse(name)
        if axis in TOKEN_AXES:
            if stem == "mask" and self.given.one_mask:
                return False  # a mask is constant on the tokens that it selects
            known = stem == "rows" or stem in self.given.tokens or stem in self.given.per_sample
            return known and axis in self.given.axes
        if axis == "S":
            return stem in self.given.samples or stem in self.given.per_sample
        return stem in self.given.steps

    def can_call(self, function: Callable[..., Any]) -> bool:
        """Whether all required inputs are there; if all are optional, whether any of them is."""
        inputs = parameters(function)
        if inputs and all(optional for _, optional in inputs):
            return any(self.has(name) for name, _ in inputs)
        return all(optional or self.has(name) for name, optional in inputs)

    def plan(self, metrics: Collection[Metric]) -> Plan:
        possible = [m for m in metrics if m.define is not None and self.can_call(m.define)]
        of_tokens = {m.name for m in possible if m.define and any(is_token(p) for p, _ in parameters(m.define))}
        in_blocks = [m for m in possible if m.name in of_tokens]
        in_samples = [m for m in possible if m.name not in of_tokens]
        rows = sorted({row for m in in_samples for row in self.row_leaves(m.define)})  # type: ignore[arg-type]
        calls: dict[str, Step] = {}
        for m in in_blocks:
            self.schedule(m.name, m.define, calls, m)  # type: ignore[arg-type]
        for row in rows:
            self.schedule(row, DERIVED[row], calls)
        arguments = {name for step in calls.values() for _, name in step.arguments}
        early = sorted(name for name in arguments if self.is_early(name))
        steps = _with_frees(list(calls.values()), keep={*rows, *early})
        tokens = {m.name: self.token_inputs(m.define) for m in possible if m.define is not None}
        watched = frozenset().union(*tokens.values())
        return Plan(steps, tuple(rows), tuple(in_samples), tuple(early), tokens, watched)

    def token_inputs(self, function: Callable[..., Any]) -> frozenset[str]:
        """The token arrays that a function cannot do without, through derived quantities."""
        inputs: frozenset[str] = frozenset()
        for name, optional in parameters(function):
            if optional or not self.has(name):
                continue
            if not self.is_raw(name):
                inputs |= self.token_inputs(DERIVED[name])
            elif is_token(name) and parse(name)[0] not in ("rows", *MASK_OF.values(), "logits", "ref_logits"):
                inputs |= {self.twin(name)}
        return inputs

    def is_early(self, name: str) -> bool:
        """Whether a value is derived from samples and step values, before any block."""
        return name in DERIVED and not is_token(name) and not is_row(name) and not self.is_raw(name)

    def row_leaves(self, function: Callable[..., Any]) -> set[str]:
        """The row quantities that a function reads, directly or through derived quantities."""
        rows: set[str] = set()
        for name, _ in parameters(function):
            if self.is_raw(name) or not self.has(name):
                continue
            rows |= {name} if is_row(name) else self.row_leaves(DERIVED[name])
        return rows

    def twin(self, name: str) -> str:
        """The same value on the sampled tokens, if the loss has no mask of its own."""
        if not self.given.one_mask or parse(name)[1] != "M":
            return name
        return f"{parse(name)[0]}_A" if self.is_raw(name) else TWINS.get(name, name)

    def schedule(
        self, name: str, function: Callable[..., Any], calls: dict[str, Step], entry: Metric | None = None
    ) -> None:
        """Append a call after the calls that compute its arguments."""
        if name in calls:
            return
        present = tuple((p, self.twin(p)) for p, _ in parameters(function) if self.has(p))
        for _, argument in present:
            if not self.is_raw(argument) and (is_token(argument) or is_row(argument)):
                self.schedule(argument, DERIVED[argument], calls)
        calls[name] = Step(name, function, present, entry)


def _with_frees(steps: list[Step], keep: set[str]) -> tuple[Step, ...]:
    """Complete the steps: a value is freed after its last reader, unless it is in `keep`."""
    last = {value: i for i, step in enumerate(steps) for _, value in step.arguments}
    free: dict[int, list[str]] = {}
    for value, i in last.items():
        if value not in keep and parse(value)[1] and not value.startswith("rows_"):
            free.setdefault(i, []).append(value)
    return tuple(_completed(step, tuple(free.get(i, ()))) for i, step in enumerate(steps))


def _completed(step: Step, free: tuple[str, ...]) -> Step:
    names = tuple(name for _, name in step.arguments)
    return replace(step, free=free, reads=frozenset(names), direct=_direct(step), names=names)


def _direct(step: Step) -> Callable[..., Any] | None:
    names = [p for p, _ in parameters(step.function)]
    by_position = [p for p, _ in step.arguments] == names[: len(step.arguments)]
    return getattr(step.function, "plain", step.function) if by_position else None


def token_axes(keys: Collection[str], every_position: bool) -> frozenset[str]:
    """The token axes that a batch has.

    Without `action_mask`, axis A is the mask, else all valid tokens, else all positions. Axis V
    needs a mask of its own, or rows without padding.
    """
    axes = {"A", "M"}
    if "valid_mask" in keys or every_position:
        axes.add("V")
    return frozenset(axes)
