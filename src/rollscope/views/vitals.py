"""The vital signs of a run: which of its series to look at first for its algorithm, as the catalogue's guidance says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rollscope.catalog.guidance import SCENARIOS, Watch, scenario
from rollscope.errors import NotFound

from .dictionary import Meaning

VITALS = 6
ORDER = (
    "reward",
    "score",
    "env/",
    "preference",
    "reward_model",
    "eval",
    "policy/entropy",
    "policy/kl",
    "critic",
    "length",
    "turns",
    "tool",
    "perf",
    "time",
)


def watched(run: Any) -> tuple[Watch, ...]:
    """What to watch for this algorithm; without a known one, the general list for policies."""
    try:
        return scenario(str(run.facts.get("algorithm") or "grpo")).watch
    except NotFound:
        return SCENARIOS[0].watch


def vital_series(run: Any, ours: Mapping[str, Meaning]) -> list[list[Meaning]]:
    """At most six signs, what is earned first and what it costs last; a sign is a series, or two that belong beside each other."""
    chosen: list[list[Meaning]] = []
    watch = watched(run)
    for w in [*(w for w in watch if w.vital), *(w for w in watch if not w.vital)]:
        series = series_of(w.metric, ours)
        if series and not any(series[0] == c[0] or series[0] in c for c in chosen):
            chosen.append(series)
        if len(chosen) == VITALS:
            break
    chosen.sort(key=lambda c: next((i for i, p in enumerate(ORDER) if c[0].name.startswith(p)), len(ORDER)))
    return chosen


def series_of(metric: str, ours: Mapping[str, Meaning]) -> list[Meaning]:
    """The series of a watched name: itself, without its scope, or the shortest that fills its placeholders; reward brings the trained beside it."""
    for name in (metric, metric.replace("/generated", "").replace("/trained", "")):
        if name in ours:
            beside = [
                ours[n]
                for n in (name.replace("/generated/", "/trained/"),)
                if n != name and n in ours and name.startswith(("reward", "score"))
            ]
            return [ours[name], *beside]
    if "{" in metric:
        pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(metric)))
        fits = [m for name, m in ours.items() if pattern.fullmatch(name)]
        return [min(fits, key=lambda m: (len(m.name), m.name))] if fits else []
    return []
