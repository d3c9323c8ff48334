"""Rules read a run and yield findings. `diagnose(run)` asks them all; liveness goes before signal, signal before tuning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rollscope.views.dictionary import Meaning, by_our_names

from .rule import RULES, Finding, NonFinite, Rule, Series

__all__ = ["Finding", "Rule", "Series", "all_rules", "diagnose"]
_SEVERITY = {"bad": 0, "watch": 1, "info": 2}
_ORDER = {"liveness": 0, "signal": 1, "tuning": 2}


def all_rules() -> dict[str, Rule]:
    """Every rule there is. Not called `rules`: that is the folder they stand in."""
    import rollscope.diagnose.rules  # noqa: F401  # fills RULES

    return RULES


def diagnose(run: Any) -> list[Finding]:
    """Every finding of every rule that has what it needs, the gravest and earliest first. `run` is a reader's run."""
    names = [str(name) for name in run.metrics()["name"]]
    known = by_our_names(names, run.facts.get("framework"))
    found: list[tuple[Rule, Finding]] = []
    for r in all_rules().values():
        found += [(r, replace(f, rule=r.name, title=r.title)) for f in _asked(r, run, known, names)]
    if any(f.severity == "bad" for _, f in found):
        found = [(r, f) for r, f in found if r.order != "tuning"]  # first make it live, then make it fast
    found.sort(key=lambda pair: (_SEVERITY[pair[1].severity], _ORDER[pair[0].order], pair[1].step))
    return [f for _, f in found]


def _asked(r: Rule, run: Any, known: dict[str, Meaning], names: list[str]) -> list[Finding]:
    """What a rule says; one that fails does not silence the others, and says so itself."""
    try:
        return list(_ask(r, run, known, names))
    except Exception as error:
        return [
            Finding(
                step=0,
                claim=f"The rule {r.name} could not read this run",
                evidence=f"{type(error).__name__}: {error}",
                severity="info",
            )
        ]


def _ask(r: Rule, run: Any, known: dict[str, Meaning], names: list[str]) -> Iterator[Finding]:
    if r.reads == "nonfinite":
        yield from r.look(_non_finite(run, names))
        return
    needed = [_series(run, known, names) for names in r.needs]
    if any(s is None for s in needed):
        return
    yield from r.look(*needed, *(_series(run, known, names) for names in r.optional))


def _series(run: Any, known: dict[str, Meaning], names: tuple[str, ...]) -> Series | None:
    for name in names:
        if (m := known.get(name)) is None:
            continue
        columns = run.series(m.logged)
        step, value = np.asarray(columns["step"], np.int64), np.asarray(columns["value"], np.float64) / m.scale
        defined = np.isfinite(value)
        if defined.any():
            return Series(step[defined], value[defined], m.logged)
    return None


def _non_finite(run: Any, names: list[str]) -> list[NonFinite]:
    """Metrics with NaN or infinite values. One bucket over everything says which, so only those are read."""
    if not names:
        return []
    whole = run.buckets(names, -1.0, float(2**53), 1)
    wrong = (whole["nan"] + whole["posinf"] + whole["neginf"]).sum(axis=1) > 0
    return [_place(run, name) for name, is_wrong in zip(names, wrong, strict=True) if is_wrong]


def _place(run: Any, name: str) -> NonFinite:
    columns = run.series(name)
    value, step, weight = (np.asarray(columns[c]) for c in ("value", "step", "weight"))
    nan = np.isnan(value) & (weight != 0)  # weight 0 is no data, not a NaN that was logged
    at = step[nan | np.isinf(value)]
    return NonFinite(name, int(nan.sum()), int(np.isinf(value).sum()), int(at[0]), int(at[-1]), len(value))
