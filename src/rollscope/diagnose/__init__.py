"""Rules read a run and yield findings. `diagnose(run)` runs every rule.

Findings are sorted by severity, then liveness, signal, tuning; tuning advice waits while anything
is bad. Door:
`diagnose`, `all_rules`, `Finding`; then `hidden` and `verdict`. Server and command line look in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning, by_our_names

from .finding import Finding
from .rule import RULES, NonFinite, Rule, Series

__all__ = ["Finding", "Rule", "Series", "all_rules", "diagnose"]
_SEVERITY = {"bad": 0, "watch": 1, "info": 2}
_ORDER = {"liveness": 0, "signal": 1, "tuning": 2}
_PAST_ANY_STEP = float(2**53)
NEED_TWO = {"std", "variance", "interval_low", "interval_high"}  # kinds that are NaN over one thing
NEED_VARIATION = {  # kinds that are NaN over values that are all equal, or all 0
    *("pearson", "explained_variance", "residual_variance", "stabilised_explained_variance"),
    *("effective_share", "imbalance", "evenness"),
}


def all_rules() -> dict[str, Rule]:
    """Every rule by name. The function cannot be called `rules`: that is the folder."""
    import rollscope.diagnose.rules  # noqa: F401  # fills RULES

    return RULES


def diagnose(run: Run) -> list[Finding]:
    """Run every rule that has its series; return the findings, worst and earliest first."""
    names = [str(name) for name in run.metrics()["name"]]
    meanings = by_our_names(names, run.facts.get("framework"))
    findings: list[tuple[Rule, Finding]] = []
    for rule in all_rules().values():
        for finding in _findings(rule, run, meanings):
            findings.append((rule, replace(finding, rule=rule.name, title=rule.title)))
    if any(finding.severity == "bad" for _, finding in findings):
        # Tuning advice waits until nothing is bad.
        findings = [(rule, finding) for rule, finding in findings if rule.order != "tuning"]
    findings.sort(key=lambda pair: (_SEVERITY[pair[1].severity], _ORDER[pair[0].order], pair[1].step))
    return [finding for _, finding in findings]


def _findings(rule: Rule, run: Run, meanings: dict[str, Meaning]) -> list[Finding]:
    """One rule's findings. If the rule raises, one finding says so; other rules still run."""
    try:
        return list(_look(rule, run, meanings))
    except Exception as error:
        claim = f"The rule {rule.name} could not read this run"
        return [Finding(step=0, claim=claim, evidence=f"{type(error).__name__}: {error}", severity="info")]


def _look(rule: Rule, run: Run, meanings: dict[str, Meaning]) -> Iterator[Finding]:
    if rule.reads == "nonfinite":
        yield from rule.look(_non_finite(run))
        return
    needed = [_first_series(run, meanings, alternatives) for alternatives in rule.needs]
    if any(series is None for series in needed):
        return
    optional = [_first_series(run, meanings, alternatives) for alternatives in rule.optional]
    yield from rule.look(*needed, *optional)


def _first_series(run: Run, meanings: dict[str, Meaning], alternatives: tuple[str, ...]) -> Series | None:
    """The defined points of the first alternative that has any."""
    for name in alternatives:
        if (meaning := meanings.get(name)) is None:
            continue
        columns = run.series(meaning.logged)
        step, value = np.asarray(columns["step"], np.int64), np.asarray(columns["value"], np.float64) / meaning.scale
        defined = np.isfinite(value)
        if defined.any():
            return Series(step[defined], value[defined], meaning.logged)
    return None


def _non_finite(run: Run) -> list[NonFinite]:
    """Metrics with NaN or infinity. One bucket over all steps picks them, so few are read."""
    metrics = run.metrics()
    names, kinds = ([str(word) for word in metrics[column]] for column in ("name", "kind"))
    if not names:
        return []
    bucket = run.buckets(names, -1.0, _PAST_ANY_STEP, 1)
    has_any = (bucket["nan"] + bucket["posinf"] + bucket["neginf"]).sum(axis=1) > 0
    hits = ((name, kind) for name, kind, is_hit in zip(names, kinds, has_any, strict=True) if is_hit)
    counts = (_count_non_finite(run, name, kind) for name, kind in hits)
    return [count for count in counts if count is not None]


def _has_no_value(name: str, kind: str, weight: NDArray[Any]) -> NDArray[np.bool_]:
    """Where NaN says that there is nothing to say, and was not logged.

    Weight 0 is no data. One value has no spread, one task no interval, and values that do not vary
    no correlation.
    """
    if kind in NEED_VARIATION:
        return np.ones(len(weight), bool)
    is_spread = kind in NEED_TWO or name.endswith("/std")
    lacking: NDArray[np.bool_] = weight < 2 if is_spread else weight == 0
    return lacking


def _count_non_finite(run: Run, name: str, kind: str) -> NonFinite | None:
    columns = run.series(name)
    value, step, weight = (np.asarray(columns[column]) for column in ("value", "step", "weight"))
    nan = np.isnan(value) & ~_has_no_value(name, kind, weight)
    steps = step[nan | np.isinf(value)]
    if not len(steps):
        return None
    return NonFinite(name, int(nan.sum()), int(np.isinf(value).sum()), int(steps[0]), int(steps[-1]), len(value))
