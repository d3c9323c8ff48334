"""Which series of a run are its vital signs, by the catalogue's guidance for its algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.catalog.guidance import SCENARIOS, Watch, scenario
from rollscope.errors import NotFound
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning

MOST_VITALS = 6
MACHINE = ("host/", "system/", "engine/")
MOST_WATCHED = 30
ORDER = (  # prefixes of our names: first what the run earns, last what it costs
    *("reward", "score", "env/", "preference", "reward_model", "eval", "policy/entropy", "policy/kl", "critic"),
    *("length", "turns", "tool", "perf", "time"),
)


def watched(run: Run) -> tuple[Watch, ...]:
    """The metrics to watch for the run's algorithm; the first scenario's if it is unknown."""
    try:
        return scenario(str(run.facts.get("algorithm") or "grpo")).watch
    except NotFound:
        return SCENARIOS[0].watch


class WatchList(TypedDict):
    """What to watch for a run's algorithm, as far as the run logs it."""

    title: str
    charts: list[list[str]]  # names as they were logged; those of one chart belong together


def watch_list(run: Run, meanings: Mapping[str, Meaning]) -> WatchList:
    """The metrics that the catalogue says to watch, in its order, the vital ones first."""
    chosen: list[list[Meaning]] = []
    for watch in sorted(watched(run), key=lambda watch: not watch.vital):
        series = series_of(watch.metric, meanings)
        if series and not any(series[0] in other for other in chosen):
            chosen.append(series)
    charts = sorted(chosen[:MOST_VITALS], key=_position) + chosen[MOST_VITALS:MOST_WATCHED]
    return {"title": f"{_title(run)} watch list", "charts": [[m.logged for m in series] for series in charts]}


def _title(run: Run) -> str:
    """The name of the algorithm whose list it is."""
    algorithm = str(run.facts.get("algorithm") or "")
    try:
        scenario(algorithm or "grpo")
    except NotFound:
        algorithm = ""
    return algorithm.upper() or "GRPO"


def vital_series(run: Run, meanings: Mapping[str, Meaning]) -> list[list[Meaning]]:
    """At most six vital signs in ORDER. Each is a series, or two to be read side by side."""
    chosen: list[list[Meaning]] = []
    for watch in sorted(watched(run), key=lambda watch: not watch.vital):
        series = series_of(watch.metric, meanings)
        if series and not any(series[0] in other for other in chosen):
            chosen.append(series)
        if len(chosen) == MOST_VITALS:
            break
    return sorted(chosen, key=_position) or _own(run, meanings)


def _own(run: Run, meanings: Mapping[str, Meaning]) -> list[list[Meaning]]:
    """For a run of names the catalogue does not watch: those with a declared range come first."""
    ranges = run.declared.get("ranges") or {}
    mine = [m for m in meanings.values() if not m.name.startswith(MACHINE)]
    return [[m] for m in sorted(mine, key=lambda m: (m.logged not in ranges, m.logged))[:MOST_VITALS]]


def _position(series: list[Meaning]) -> int:
    return next((i for i, prefix in enumerate(ORDER) if series[0].name.startswith(prefix)), len(ORDER))


def series_of(metric: str, meanings: Mapping[str, Meaning]) -> list[Meaning]:
    """The series of a watched name: under it, without its scope, or the shortest that fits it.

    A reward or a score over the generated samples comes with the one over the trained samples.
    """
    for name in (metric, metric.replace("/generated", "").replace("/trained", "")):
        if name in meanings:
            return [meanings[name], *_trained(name, meanings)]
    if "{" not in metric:
        return []
    pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(metric)))
    fits = [m for name, m in meanings.items() if pattern.fullmatch(name)]
    return [min(fits, key=lambda m: (len(m.name), m.name))] if fits else []


def _trained(name: str, meanings: Mapping[str, Meaning]) -> list[Meaning]:
    trained = name.replace("/generated/", "/trained/")
    is_pair = trained != name and trained in meanings and name.startswith(("reward", "score"))
    return [meanings[trained]] if is_pair else []
