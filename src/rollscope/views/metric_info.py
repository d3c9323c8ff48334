"""What a chart needs to know about a logged name: entry, unit, ranges, and its other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope import strict_json
from rollscope.catalog.names.find import also
from rollscope.catalog.spec import METRICS, Metric
from rollscope.errors import RollscopeError
from rollscope.store.naming import Found
from rollscope.store.run import Run
from rollscope.strict_json import Number

from .dictionary import Meaning, dialect_of, meaning
from .no_value import last_known

TITLES = {
    "policy/entropy": "Entropy",
    "policy/kl_ref_k3": "KL to reference, k3",
    "policy/kl_ref_k1": "KL to reference, k1",
    "policy/kl_update_k1": "KL of the update, k1",
    "policy/clip/region": "Clipped tokens",
    "optimiser/grad_norm": "Gradient norm",
    "optimiser/lr": "Learning rate",
    "perf/throughput": "Throughput",
    "time/step": "Time of a step",
    "length/completion": "Completion length",
    "length/truncated": "Truncated",
    "reward": "Reward",
    "score": "Score",
    "critic/loss": "Value loss",
    "critic/explained_variance": "Explained variance",
    "group/zero_spread": "Groups without spread",
    "tool/failure_share": "Failed tool calls",
    "turns": "Turns",
    "staleness": "Staleness",
    "preference/margin": "Margin",
    "preference/accuracy": "Preference accuracy",
    "preference/loss": "Preference loss",
    "env/success_once": "Success, at any time",
    "env/success_at_end": "Success, at the end",
}
# Entries on the scale of what was declared. A Gini or a share of the same values is not.
REWARDS = {"reward", "score", *(f"task_reward/{stat}" for stat in ("mean", "max", "min"))}
REWARDS_OF_ENV = {"reward_env/{env}"}
PARTS = {
    *("reward_component/{component}", "sample_metric/{metric}"),
    *(f"task_metric/{{metric}}/{stat}" for stat in ("mean", "max", "min")),
}
HEAT_COLUMNS = {  # entry -> the column of samples from which its distribution can be drawn
    "reward": "reward",
    "score": "score",
    "advantage": "advantage",
    "length/completion": "completion_tokens",
    "length/response": "response_tokens",
    "length/prompt": "prompt_tokens",
    "turns": "turns",
    "staleness": "off_policy_steps",
}


class MetricInfo(TypedDict):
    """A logged name and everything a chart of it needs to know."""

    name: str
    kind: str
    unit: str
    count: int
    last: Number
    step: int
    entry: str
    title: str
    range: list[float | None]
    range_from: str
    healthy: list[float | None]
    differs: str
    note: str
    stat: str
    heat: bool
    also: list[str]


class EntryBrief(TypedDict):
    """An entry that several names share, with every framework's keys for it as they are written."""

    meaning: str
    good: str
    also: list[str]


class FoundShape(TypedDict):
    """The series of a run that a name means; its numbers are `scale` times those stored."""

    asked: str
    stored: str
    scale: float
    unit: str
    warning: str
    why: str


class FoundList(TypedDict):
    """What a name means on a run; if nothing, a sentence that says so."""

    asked: str
    found: list[FoundShape]
    says: str


class NameList(TypedDict):
    names: list[MetricInfo]
    entries: dict[str, EntryBrief]


def found_list(run: Run, name: str, dialect: str | None) -> FoundList:
    """Every series that a name or a pattern means on a run."""
    found = run.find_all(name, dialect)
    says = ""
    if len(found) != 1:
        try:
            run.find(name, dialect)
        except RollscopeError as error:
            says = str(error)
    return {"asked": name, "found": [_found_shape(one) for one in found], "says": says}


def _found_shape(found: Found) -> FoundShape:
    return {
        "asked": found.asked,
        "stored": found.stored,
        "scale": found.scale,
        "unit": found.unit,
        "warning": found.warning,
        "why": found.why,
    }


def name_list(run: Run) -> NameList:
    """Every name of a run, host metrics and per-rank detail included."""
    metrics, dialect, declared = run.metrics(), dialect_of(run), run.declared
    columns = {**metrics, "last": last_known(run)}
    rows = zip(*(columns[column].tolist() for column in ("name", "kind", "count", "last", "step")), strict=True)
    names = [info(name, kind, count, last, step, dialect, declared) for name, kind, count, last, step in rows]
    entries = {row["entry"] for row in names} - {""}
    return {"names": names, "entries": {name: _brief(METRICS[name]) for name in entries}}


def info(
    logged: str, kind: str, count: int, last: float | None, step: int, dialect: str | None, declared: Mapping[str, Any]
) -> MetricInfo:
    m = meaning(logged, dialect)
    shown, source = range_of(logged, m, declared)
    note = m.match.via.note if m.match and m.match.via else ""
    return {
        "name": logged,
        "kind": kind,
        "unit": m.unit,
        "count": count,
        "last": strict_json.number(last),
        "step": step,
        "entry": m.entry.name if m.entry else "",
        "title": title(m),
        "range": shown,
        "range_from": source,
        "healthy": healthy_range(m),
        "differs": "" if m.same else note or "another quantity under a neighbouring name",
        "note": note,  # about the framework's number, also if it is the same quantity
        "stat": m.stat,
        "heat": _has_heatmap(m),
        "also": _filled_keys(m),
    }


def title(m: Meaning) -> str:
    """A short name for people; empty if the path says as much."""
    name = TITLES.get(m.entry.name, "") if m.entry else ""
    return f"{name}, {m.stat}" if name and m.stat not in ("", "mean") else name


def healthy_range(m: Meaning) -> list[float | None]:
    """The entry's healthy range. It holds for means only, not for other statistics."""
    return in_unit_of(m, m.entry.healthy) if m.entry and m.stat in ("", "mean") else [None, None]


def in_unit_of(m: Meaning, pair: Sequence[float | None]) -> list[float | None]:
    """A range of ours in the unit of the logged numbers, with the lower end first."""
    ends = [None if end is None else end * m.scale for end in pair]
    return ends if m.scale > 0 else ends[::-1]


def _filled_keys(m: Meaning) -> list[str]:
    """The frameworks' keys for this very statistic that its entry writes with placeholders."""
    as_written = {name.key for name in m.entry.names} if m.entry else set()
    return sorted(set(also(m.match)) - as_written)


def _has_heatmap(m: Meaning) -> bool:
    return m.stat == "mean" and m.entry is not None and m.entry.kind == "distribution" and m.entry.name in HEAT_COLUMNS


def _brief(entry: Metric) -> EntryBrief:
    return {"meaning": entry.meaning, "good": entry.good, "also": sorted({n.key for n in entry.names} | {entry.name})}


def range_of(logged: str, m: Meaning, declared: Mapping[str, Any]) -> tuple[list[float | None], str]:
    """The range of a chart's axis and its source: declared for this run, natural, or observed."""
    if m.stat == "gini":
        return [0.0, 1.0], "natural"
    if m.stat == "std":  # it does not live on the distribution's own scale
        return [0.0, None], "natural"
    pair = declared_range(logged, m, declared)
    if pair is not None:
        return [float(pair[0]), float(pair[1])], "declared"
    if m.entry and m.entry.range != (None, None):
        return in_unit_of(m, m.entry.range), "natural"
    return [None, None], "observed"


def declared_range(logged: str, m: Meaning, declared: Mapping[str, Any]) -> Sequence[float] | None:
    """The range that `run.declare` gave: by name, as the reward, or as a part of an environment."""
    ranges = declared.get("ranges") or {}
    for name in (logged, m.name, m.entry.name if m.entry else logged):
        if name in ranges:
            return ranges[name]  # type: ignore[no-any-return]
    if m.match is None:
        return None
    entry, bindings = m.match.entry.name, dict(m.match.bindings or {})
    if entry in REWARDS:
        return declared_reward_range(declared)
    if entry in REWARDS_OF_ENV:
        return _declared_for(bindings["env"], declared) or declared_reward_range(declared)
    part = bindings.get("component") or bindings.get("metric")
    if not part or entry not in PARTS:
        return None
    ranges_of_envs = [env.get("metrics_ranges") or {} for env in _environments(declared)]
    return _widest([tuple(ranges.get(part, (None, None))) for ranges in ranges_of_envs])


def _declared_for(env: str, declared: Mapping[str, Any]) -> Sequence[float] | None:
    """The reward range that was declared for one environment."""
    facts = (declared.get("envs") or declared.get("environments") or {}).get(env) or {}
    return _widest([(facts.get("reward_min"), facts.get("reward_max"))])


def declared_reward_range(declared: Mapping[str, Any]) -> Sequence[float] | None:
    """The widest reward range that `run.declare` gave for any environment."""
    return _widest([(env.get("reward_min"), env.get("reward_max")) for env in _environments(declared)])


def declared_of(declared: Mapping[str, Any], env: str) -> Mapping[str, Any]:
    """What was declared, as one environment sees it; all of it if that declared nothing."""
    own = (declared.get("environments") or {}).get(env) if env else None
    return {**declared, "environments": {env: own}} if own else declared


def _environments(declared: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What was declared for each environment, and for the run as a whole."""
    envs = declared.get("envs") or declared.get("environments") or {}
    each = list(envs.values()) if isinstance(envs, Mapping) else list(envs)
    return [*each, declared] if "reward_min" in declared or "metrics_ranges" in declared else each


def _widest(pairs: Sequence[Sequence[Any]]) -> Sequence[float] | None:
    known = [pair for pair in pairs if len(pair) == 2 and pair[0] is not None and pair[1] is not None]
    return (min(pair[0] for pair in known), max(pair[1] for pair in known)) if known else None
