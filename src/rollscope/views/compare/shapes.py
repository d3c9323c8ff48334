"""A comparison as the page asks for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from rollscope.statistics.factors import Effect
from rollscope.store.run import Run
from rollscope.strict_json import Number, number, plain
from rollscope.views.configuration import PLACE, SEED, flat

from .outcome import Outcome
from .partings import Parting
from .settings import Difference, differences, settings

MOST_FILES = 40
LONGEST = 300  # characters of a setting's value


class GroupShape(TypedDict):
    """Runs that stand together; the first is the one that was asked for."""

    letter: str
    name: str
    runs: list[str]


class DifferShape(TypedDict):
    """A thing that differs: one value for each group; null: it has none."""

    kind: str
    key: str
    values: list[Any]


class MetricShape(TypedDict):
    """A metric of A and B: from which step on they stay apart, null if they do not."""

    name: str
    step: int | None
    distance: Number
    says: str


class OutcomeShape(TypedDict):
    """A group against A in one number."""

    letter: str
    name: str
    score: str
    a: Number
    b: Number
    difference: Number
    low: Number
    high: Number
    p: Number
    unit: str
    n: list[int]
    improvement: Number
    graded: bool


class ComparisonShape(TypedDict):
    groups: list[GroupShape]
    claim: str
    certainty: str
    but: str
    parting: str
    measured: str  # the metric or set whose noise matters here; empty: none
    differs: list[DifferShape]
    equal: dict[str, int]  # kind -> how many are equal in all groups
    files: list[str]  # that differ from the commit, in any group
    metrics: list[MetricShape]
    outcomes: list[OutcomeShape]  # of B on every set, then of the other groups on the first
    settings: list[str]  # by which runs can be grouped
    sets: list[str]


class NoiseShape(TypedDict):
    says: str


class FactorShape(TypedDict):
    """What the score did where a setting changed."""

    factor: str
    usual: str
    other: str
    effect: Number
    low: Number
    high: Number
    runs_with: int
    runs_without: int
    confounded: list[str]


class FactorList(TypedDict):
    on: str
    graded: bool
    runs: int
    says: str
    factors: list[FactorShape]


class SolvedShape(TypedDict):
    """The same tasks in A and B, by who solved them; `step` is the newest that all runs have."""

    set: str
    step: int | None
    both: list[str]
    only_a: list[str]
    only_b: list[str]
    neither: list[str]


def finite(value: float) -> Number:
    return number(value) if math.isfinite(value) else None


def outcome_shape(letter: str, o: Outcome) -> OutcomeShape:
    numbers = {key: finite(getattr(o, key)) for key in ("a", "b", "difference", "low", "high", "p", "improvement")}
    words = {"letter": letter, "name": o.name, "score": o.score, "unit": o.unit, "n": [*o.n], "graded": o.graded}
    return {**words, **numbers}  # type: ignore[typeddict-item]


def metric_shape(p: Parting) -> MetricShape:
    return {"name": p.metric, "step": p.step, "distance": finite(p.distance), "says": p.says}


def factor_shape(e: Effect) -> FactorShape:
    return {
        "factor": e.change.factor,
        "usual": str(e.change.usual)[:LONGEST],
        "other": str(e.change.other)[:LONGEST],
        "effect": finite(e.effect),
        "low": finite(e.low),
        "high": finite(e.high),
        "runs_with": e.runs_with,
        "runs_without": e.runs_without,
        "confounded": list(e.confounded),
    }


def differing(runs: Sequence[Run]) -> tuple[list[DifferShape], dict[str, int], list[str]]:
    """What differs between runs beside seed and place, how much is equal, and changed files."""
    facts = [settings(run) for run in runs]
    found = [d for d in differences(facts) if not SEED.search(d.key) and not PLACE.search(d.key)]
    files = {name for one in facts for name in _changed(one)}
    shown = [d for d in found if not d.key.startswith(("git.changed", "git.dirty", "hardware.host.name"))]
    return [_differ(d) for d in shown], _equal(facts, found), sorted(files)[:MOST_FILES]


def _differ(d: Difference) -> DifferShape:
    return {"kind": d.kind, "key": d.key.partition(".")[2] or d.key, "values": [_short(value) for value in d.values]}


def _short(value: Any) -> Any:
    known = plain(value, surrogates=True)
    simple = known is None or isinstance(known, bool | int | float)
    return known if simple else str(known)[:LONGEST]


def _changed(facts: Mapping[str, Any]) -> list[str]:
    changed = (facts.get("git") or {}).get("changed") if isinstance(facts.get("git"), Mapping) else None
    return [str(line).split(maxsplit=1)[-1] for line in changed] if isinstance(changed, list) else []


def _equal(facts: Sequence[Mapping[str, Any]], found: Sequence[Difference]) -> dict[str, int]:
    unlike = {d.key for d in found}
    counts: dict[str, int] = {}
    for key, _ in flat(facts[0]):
        if key not in unlike and not SEED.search(key):
            kind = Difference(key, ()).kind
            counts[kind] = counts.get(kind, 0) + 1
    return counts
