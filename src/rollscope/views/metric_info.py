"""What a chart must know about a logged name: its entry, unit, range, healthy zone, and every other name people search it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from rollscope.catalog.spec import METRICS, Metric
from rollscope.store.run import Run
from rollscope.strict_json import Number
from rollscope.strict_json import number as wire

from .dictionary import Meaning, meaning

SPREADS = ("std", "gini")  # statistics of a distribution that do not live on the distribution's own scale
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


class EntryBrief(TypedDict):
    """What many names share: the entry they are of, and every framework's keys for it."""

    meaning: str
    good: str
    also: list[str]


class NameList(TypedDict):
    names: list[MetricInfo]
    entries: dict[str, EntryBrief]


def title(m: Meaning) -> str:
    """A short name for people, or nothing where the path says it as well."""
    if m.found is None:
        return ""
    said = TITLES.get(m.found.entry.name, "")
    return f"{said}, {m.found.stat}" if said and m.found.stat not in ("", "mean") else said


def info(
    logged: str, kind: str, count: int, last: float, step: int, framework: str, declared: Mapping[str, Any]
) -> MetricInfo:
    m = meaning(logged, framework or None)
    entry = m.found.entry if m.found else None
    stat = m.found.stat if m.found else ""
    shown, source = range_of(logged, m, declared)
    return {
        "name": logged,
        "kind": kind,
        "unit": entry.unit if entry and stat != "gini" else "",
        "count": count,
        "last": wire(last) if count else None,
        "step": step,
        "entry": entry.name if entry else "",
        "title": title(m),
        "range": shown,
        "range_from": source,
        "healthy": list(entry.healthy) if entry and stat in ("", "mean") else [None, None],
        "differs": (m.found.via.note or "another quantity under a neighbouring name")
        if m.found and m.found.via and not m.found.same
        else "",
        "note": m.found.via.note
        if m.found and m.found.via
        else "",  # what is known about the framework's number, also where it is the same quantity
        "stat": stat,
        "heat": stat == "mean" and entry is not None and entry.kind == "distribution" and entry.name in HEAT_COLUMNS,
    }


HEAT_COLUMNS = {  # entries whose distribution can be drawn from the samples themselves
    "reward": "reward",
    "score": "score",
    "advantage": "advantage",
    "length/completion": "completion_tokens",
    "length/response": "response_tokens",
    "length/prompt": "prompt_tokens",
    "turns": "turns",
    "staleness": "off_policy_steps",
}


def range_of(logged: str, m: Meaning, declared: Mapping[str, Any]) -> tuple[list[float | None], str]:
    """The range a chart pins its axis to: declared for this run, else the entry's natural one, else none."""
    if m.found and m.found.stat in SPREADS:
        return ([0.0, 1.0], "natural") if m.found.stat == "gini" else ([0.0, None], "natural")
    said = declared_range(logged, m, declared)
    if said is not None:
        return [float(said[0]), float(said[1])], "declared"
    if m.found and m.found.entry.range != (None, None):
        return list(m.found.entry.range), "natural"
    return [None, None], "observed"


def declared_range(logged: str, m: Meaning, declared: Mapping[str, Any]) -> Sequence[float] | None:
    """What `run.declare` said of this metric: by name, else as the reward, else as a component or sample metric of an environment."""
    ranges = declared.get("ranges") or {}
    for name in (logged, m.name, m.found.entry.name if m.found else logged):
        if name in ranges:
            return ranges[name]  # type: ignore[no-any-return]
    if m.found and m.found.entry.name in ("reward", "score", "task_reward"):
        return declared_reward_range(declared)
    bindings = dict(m.found.bindings or {}) if m.found else {}
    word = bindings.get("component") or bindings.get("metric")
    if word:
        ranges_of_envs = [env.get("metrics_ranges") or {} for env in _environments(declared)]
        return _widest([tuple(ranges.get(word, (None, None))) for ranges in ranges_of_envs])
    return None


def declared_reward_range(declared: Mapping[str, Any]) -> Sequence[float] | None:
    """The widest reward range that `run.declare` gave for any environment."""
    return _widest([(env.get("reward_min"), env.get("reward_max")) for env in _environments(declared)])


def _environments(declared: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    envs = declared.get("envs") or declared.get("environments") or {}
    found = list(envs.values()) if isinstance(envs, Mapping) else list(envs)
    return [*found, declared] if "reward_min" in declared or "metrics_ranges" in declared else found


def _widest(pairs: Sequence[Sequence[Any]]) -> Sequence[float] | None:
    known = [p for p in pairs if len(p) == 2 and p[0] is not None and p[1] is not None]
    return (min(p[0] for p in known), max(p[1] for p in known)) if known else None


def listing(run: Run) -> NameList:
    """Every name of a run. Host and per-rank detail included: what was logged is shown."""
    found, framework, declared = run.metrics(), str(run.facts.get("framework") or ""), run.declared
    rows = zip(*(found[c].tolist() for c in ("name", "kind", "count", "last", "step")), strict=True)
    names = [info(name, kind, count, last, step, framework, declared) for name, kind, count, last, step in rows]
    return {"names": names, "entries": {name: brief(METRICS[name]) for name in {m["entry"] for m in names} - {""}}}


def brief(entry: Metric) -> EntryBrief:
    return {"meaning": entry.meaning, "good": entry.good, "also": sorted({n.key for n in entry.names} | {entry.name})}


HEADLINES = (
    "reward/generated/mean", "reward/mean", "reward/trained/mean", "score/generated/mean", "score/mean", "task_reward/mean", "env/return/mean", "env/success_once", "policy/rlhf_reward",
    "preference/margin/mean", "reward_model/accuracy", "sft/loss", "policy/loss_total", "loss",
)  # fmt: skip


def headline(run: Run, ours: Mapping[str, Meaning]) -> str:
    """The logged name of the one series that stands for the run: its reward, or what comes nearest."""
    for name in HEADLINES:
        if name in ours:
            return ours[name].logged
    known = run.stored_names()
    for word in ("reward", "return", "score", "loss"):
        named = sorted(
            (n for n in known if word in n.lower()), key=lambda n: (not n.endswith("mean") and n != word, len(n))
        )
        if named:
            return str(named[0])
    return str(known[0]) if known else ""
