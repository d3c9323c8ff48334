"""Which series of a run are its vital signs: by the kind of run, from its names and algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.catalog.guidance import SCENARIOS, Scenario, Watch, scenario
from rollscope.errors import NotFound
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning

MOST_VITALS = 6
MACHINE = ("host/", "system/", "engine/")
MOST_WATCHED = 30
ORDER = (  # prefixes of our names: first what the run earns, last what it costs
    *("env/success", "env/return", "score", "reward", "preference/margin", "preference/accuracy", "preference"),
    *("distillation", "sft", "env/", "eval", "policy/entropy", "policy/kl", "critic", "policy", "optimiser"),
    *("length", "turns", "tool", "staleness", "perf", "time"),
)
KINDS = (  # scenario -> names that only such a run has, most telling first
    ("embodied", ("env/success_once", "env/success_at_end", "env/return/mean")),
    ("distillation", ("distillation/loss/mean", "distillation/jsd", "distillation/opd_reverse_kl")),
    ("kto", ("preference/kto/kl",)),
    ("dpo", ("preference/margin/mean", "preference/accuracy", "preference/loss")),
    ("reward_model", ("reward_model/accuracy", "reward_model/margin/mean", "reward_model/loss")),
    ("trl-ppo", ("reward/score_with_kl", "policy/kl_ref_sum")),
    ("agent", ("tool/failure_share", "tool/calls/generated/mean", "tool/calls/mean")),
    ("ppo", ("critic/loss", "critic/explained_variance")),
)
SPELT = ("trl-ppo",)  # kinds of one framework: every other logs such a quantity under another name
OFFLINE = ("dpo", "kto", "reward_model", "sft")  # kinds whose samples were made before
ONLINE = ("grpo", "ppo", "trl-ppo", "trl-grpo", "agent")  # kinds that sample while they train


def kind_of(run: Run, meanings: Mapping[str, Meaning]) -> Scenario:
    """The kind of a run. Its names decide where only one kind has them, else its algorithm does."""
    named = _by_algorithm(str(run.facts.get("algorithm") or ""))
    told = next((kind for kind, names in KINDS if _tells(kind, names, run, meanings)), "")
    if named is not None and (not told or named.name not in ONLINE):
        return named
    if told:
        return scenario(told)
    return scenario("sft") if "sft/loss" in meanings and "reward/mean" not in meanings else SCENARIOS[0]


def _tells(kind: str, names: Sequence[str], run: Run, meanings: Mapping[str, Meaning]) -> bool:
    """True if the run has one of the names. Some kinds need more than a name."""
    present = [meanings[name] for name in names if name in meanings]
    if kind in SPELT:
        return any(meaning.logged != meaning.name for meaning in present)
    return any(_is_used(run, meaning) for meaning in present) if kind == "agent" else bool(present)


def _is_used(run: Run, meaning: Meaning) -> bool:
    """True if some value is a number other than 0: a loop may log tools that nobody calls."""
    return bool(np.any(np.nan_to_num(run.series(meaning.logged)["value"])))


def _by_algorithm(algorithm: str) -> Scenario | None:
    try:
        return scenario(algorithm) if algorithm else None
    except NotFound:
        return None


class WatchList(TypedDict):
    """What to watch for a kind of run, as far as the run logs it."""

    title: str
    charts: list[list[str]]  # names as they were logged; those of one chart belong together


def watch_list(run: Run, meanings: Mapping[str, Meaning]) -> WatchList:
    """The metrics that the catalogue says to watch, in its order, the vital ones first."""
    kind = kind_of(run, meanings)
    chosen: list[list[Meaning]] = []
    for watch in sorted(kind.watch, key=lambda watch: not watch.vital):
        series = series_of(watch.metric, meanings)
        if series and not any(series[0] in other for other in chosen):
            chosen.append(series)
    charts = sorted(chosen[:MOST_VITALS], key=_position) + chosen[MOST_VITALS:MOST_WATCHED]
    return {"title": f"{_title(run, kind)} watch list", "charts": [[m.logged for m in series] for series in charts]}


def _title(run: Run, kind: Scenario) -> str:
    """The name of the algorithm whose list it is, else of the kind of run."""
    algorithm = str(run.facts.get("algorithm") or "")
    return (algorithm if _by_algorithm(algorithm) else kind.name).upper().replace("_", " ")


def vital_series(run: Run, meanings: Mapping[str, Meaning], kind: str = "") -> list[list[Meaning]]:
    """At most six vital signs in ORDER. Each is a series, or two to be read side by side.

    `kind` names another scenario than the run's own.
    """
    watched = scenario(kind).watch if kind else kind_of(run, meanings).watch
    chosen: list[list[Meaning]] = []
    for watch in [*sorted(watched, key=lambda watch: not watch.vital), *_evaluations()]:
        series = series_of(watch.metric, meanings)
        if series and not any(series[0] in other for other in chosen):
            chosen.append(series)
        if len(chosen) == MOST_VITALS:
            break
    return sorted(chosen, key=_position) or _own(run, meanings)


def _evaluations() -> tuple[Watch, ...]:
    """Watched by every kind of run, after its own."""
    return (Watch("eval/{set}/{score}/mean@{k}", "", "effectiveness", vital=True),)


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
