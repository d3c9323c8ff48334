"""Sample statistics per step, in a long table: one row per (step, environment, fate, what).

`fate` is "" for every sample, "generated" for those whose fate is settled, "trained" and "discarded"; `env` is "" for all. `what` is a
column, `rewards/<component>`, `sample_metrics/<name>`, `task/reward` (a task's repeats averaged first), or a share such as
`stop_reason/length`. Quantiles and Gini do not merge, so a step is computed from all its samples or not at all. Where all samples are of
one environment it has no rows of its own, only one that says so (`what` is "env"): what holds for all holds for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store import arrow

from . import statistic
from .rows import Floats, Ints
from .statistic import NAMES, Inside

NUMBERS = (
    "reward",
    "score",
    "advantage",
    "prompt_tokens",
    "completion_tokens",
    "response_tokens",
    "turns",
    "tool_calls",
    "tool_failures",
    "off_policy_steps",
    "generate_seconds",
    "tool_seconds",
    "reward_seconds",
)
LENGTHS = ("prompt_tokens", "completion_tokens", "response_tokens")
COLUMNS = (
    arrow.ESCAPED,
    "id",
    "step",
    "env",
    "split",
    "group",
    "task",
    "trained",
    "discard_reason",
    "stop_reason",
    "rewards",
    "sample_metrics",
    *NUMBERS,
)
GROUPED = tuple(f.name for f in fields(Inside) if f.name != "step")
FATES = ("", "generated", "trained", "discarded")


@dataclass(slots=True)
class Bounds:
    """Declared ranges: of the reward by environment, of components and sample metrics by name."""

    declared: Mapping[str, Any]

    def of(self, what: str, envs: list[str], env: Ints) -> tuple[Floats, Floats]:
        """The range of every sample, NaN where none was declared. A length starts at 0."""
        if what in LENGTHS:
            return np.zeros(len(env)), np.full(len(env), np.nan)
        pairs = np.array([self._pair(what, name) for name in envs] or [(np.nan, np.nan)], np.float64)
        return pairs[env, 0], pairs[env, 1]

    def _pair(self, what: str, env: str) -> tuple[float, float]:
        said = {**self.declared, **(self.declared.get("environments") or {}).get(env, {})}
        if what in ("reward", "score", "task/reward"):
            pair = (said.get("reward_min"), said.get("reward_max"))
        else:
            pair = tuple((said.get("metrics_ranges") or {}).get(what.split("/", 1)[-1], (None, None)))
        low, high = (np.nan if bound is None else float(bound) for bound in pair)
        return low, high


@dataclass(slots=True)
class Samples:
    """Samples as arrays: what the statistics read."""

    step: Ints
    env: Ints
    envs: list[str]
    group: Ints
    task: Ints
    fate: NDArray[np.int64]  # -1 not settled, 0 discarded, 1 trained
    values: dict[str, Floats] = field(default_factory=dict)
    shares: dict[str, Floats] = field(default_factory=dict)


@np.errstate(invalid="ignore", over="ignore")  # an infinite reward has no spread: that is a NaN, and no warning
def rollup(rows: pa.Table, declared: Mapping[str, Any]) -> pa.Table:
    """The statistics of samples that are not of an evaluation and have a step."""
    keep = pc.and_(rows["step"].is_valid(), pc.fill_null(pc.not_equal(rows["split"], "eval"), True))
    found = _samples(rows.filter(keep))
    parts: list[dict[str, Any]] = []
    bounds = Bounds(declared)
    every = np.arange(len(found.step))
    scopes = [("", every)] + (
        [(name, np.flatnonzero(found.env == i)) for i, name in enumerate(found.envs) if name]
        if len(found.envs) > 1
        else []
    )
    if len(found.envs) == 1 and found.envs[0]:
        parts += [
            {"env": found.envs[0], "what": "env", **part}
            for part in _share(found, every, np.ones(len(every)), only_some=False)
            if not part["fate"]
        ]
    for env, rows_of in scopes:
        for what, values in found.values.items():
            parts += [{"env": env, **part} for part in _value(found, rows_of, what, values, bounds)]
        for what, values in found.shares.items():
            parts += [
                {"env": env, "what": what, **part} for part in _share(found, rows_of, values, only_some="/" in what)
            ]
    return _table(parts)


def _samples(rows: pa.Table) -> Samples:
    env, envs = _words(rows["env"])
    group, _ = _words(pc.coalesce(rows["group"], rows["task"], rows["id"]))
    task, _ = _words(pc.coalesce(rows["task"], rows["group"], rows["id"]))
    thrown = np.asarray(pc.fill_null(pc.not_equal(rows["discard_reason"], ""), False))
    trained = np.asarray(pc.fill_null(rows["trained"].cast(pa.int64()), -1))
    fate = np.where((trained < 0) & thrown, 0, trained)
    found = Samples(np.asarray(rows["step"]), env, envs, group, task, fate)
    for name in NUMBERS:
        if rows[name].null_count < len(rows):
            found.values[name] = _floats(rows[name])
    aborted = found.values["completion_tokens"] == 0 if "completion_tokens" in found.values else None
    for column in ("rewards", "sample_metrics"):
        found.values |= {f"{column}/{name}": values for name, values in _named(rows, column).items()}
    if aborted is not None:  # an empty answer is in lengths and groups, in no mean over sequences
        found.shares["aborted"] = aborted.astype(np.float64)
    _add_shares(found, rows)
    return found


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan))


def _words(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()


def _named(rows: pa.Table, column: str) -> dict[str, Floats]:
    """Numbers of a JSON column by name; what is not a number is left out. In a name, a lone surrogate is a `?`."""
    found: dict[str, Floats] = {}
    if rows[column].null_count == len(rows):
        return found
    for i, text in enumerate(
        arrow.numpy(rows.select([c for c in (column, arrow.ESCAPED) if c in rows.column_names]), {})[column]
    ):
        if text is None:
            continue
        for name, value in json.loads(text).items():
            if isinstance(value, int | float | bool):
                found.setdefault(name.encode("utf-8", "replace").decode(), np.full(len(rows), np.nan))[i] = value
    return found


def _add_shares(found: Samples, rows: pa.Table) -> None:
    settled = found.fate >= 0
    for column, known in (("stop_reason", np.asarray(rows["stop_reason"].is_valid())), ("discard_reason", settled)):
        code, words = _words(rows[column])
        if known.any():
            found.shares[column] = np.where(known, 1.0, np.nan)  # how many samples could have one
        for i, word in enumerate(words):
            if word and known.any():
                found.shares[f"{column}/{word}"] = np.where(known, (code == i).astype(np.float64), np.nan)
    if settled.any():
        found.shares["discarded"] = np.where(settled, (found.fate == 0).astype(np.float64), np.nan)


def _fates(fate: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    yield "", np.ones(len(fate), bool)
    if (fate >= 0).any():
        yield from (("generated", fate >= 0), ("trained", fate == 1), ("discarded", fate == 0))


def _value(found: Samples, rows: Ints, what: str, values: Floats, bounds: Bounds) -> Iterator[dict[str, Any]]:
    rows = rows[~np.isnan(values[rows])]
    rows = rows[np.lexsort((values[rows], found.step[rows]))]
    grouped = what in ("reward", "completion_tokens") or "/" in what
    counted = rows if what in LENGTHS or "aborted" not in found.shares else rows[found.shares["aborted"][rows] == 0]
    inside = _inside(found, rows, what, values, bounds) if grouped else {}
    for fate, mask in _fates(found.fate[counted]):
        kept = counted[mask]
        step, stats = statistic.of_stretches(found.step[kept], values[kept])
        yield {"what": what, "fate": fate, "step": step, **stats, **_matched(step, inside.get(fate))}
    if what == "reward":
        yield from _by_task(found, counted, values)


def _inside(found: Samples, rows: Ints, what: str, values: Floats, bounds: Bounds) -> dict[str, Inside]:
    rows = rows[np.lexsort((values[rows], found.group[rows], found.step[rows]))]
    low, high = bounds.of(what, found.envs, found.env[rows])
    step, group, x = found.step[rows], found.group[rows], values[rows]
    return {
        fate: statistic.inside_groups(step[m], group[m], x[m], low[m], high[m]) for fate, m in _fates(found.fate[rows])
    }


def _matched(step: Ints, inside: Inside | None) -> dict[str, Floats]:
    """Group statistics in the order of the steps; groups may exist where no sequence counts."""
    if inside is None:
        return {}
    at = np.searchsorted(inside.step, step)
    return {name: getattr(inside, name)[at] for name in GROUPED}


def _by_task(found: Samples, rows: Ints, values: Floats) -> Iterator[dict[str, Any]]:
    for fate, mask in _fates(found.fate[rows]):
        kept = rows[mask]
        kept = kept[np.lexsort((found.task[kept], found.step[kept]))]
        starts = statistic.starts_of(found.step[kept], found.task[kept])
        if not len(starts):
            continue
        means = np.add.reduceat(values[kept], starts) / np.diff([*starts, len(kept)])
        step = found.step[kept][starts]
        order = np.lexsort((means, step))
        keys, stats = statistic.of_stretches(step[order], means[order])
        yield {"what": "task/reward", "fate": fate, "step": keys, **stats}


def _share(found: Samples, rows: Ints, values: Floats, only_some: bool) -> Iterator[dict[str, Any]]:
    """A share: how many samples could have it, and how many do. Of words, only the steps where some sample has it."""
    rows = rows[~np.isnan(values[rows])]
    rows = rows[np.argsort(found.step[rows], kind="stable")]
    for fate, mask in _fates(found.fate[rows]):
        kept = rows[mask]
        starts = statistic.starts_of(found.step[kept])
        n = np.diff([*starts, len(kept)]).astype(np.float64)
        mean = np.add.reduceat(values[kept], starts) / n if len(starts) else n
        some = mean > 0 if only_some else np.ones(len(mean), bool)
        yield {"fate": fate, "step": found.step[kept][starts][some], "n": n[some], "mean": mean[some]}


def _table(parts: list[dict[str, Any]]) -> pa.Table:
    words = ("env", "fate", "what")
    sizes = [len(part["step"]) for part in parts]
    columns: dict[str, Any] = {"step": np.concatenate([np.empty(0, np.int64), *(part["step"] for part in parts)])}
    starts = np.cumsum([0, *sizes]).tolist()
    for name in (*NAMES, *GROUPED):
        columns[name] = np.full(starts[-1], np.nan)
        for part, start, size in zip(parts, starts, sizes, strict=False):
            if name in part:
                columns[name][start : start + size] = part[name]
    for name in words:
        known = sorted({part[name] for part in parts})
        codes = np.repeat([known.index(part[name]) for part in parts], sizes).astype(np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(known, pa.string()))
    return pa.table(columns)
