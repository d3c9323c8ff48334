"""Sample statistics per step, in a long table: one row per (step, environment, fate, what).

`fate` is "" for all samples, "generated" for those that are marked trained or discarded, "trained",
or "discarded"; `env` is "" for all. `what` is a column, `rewards/<component>`,
`sample_metrics/<name>`, `task/reward` (a task's repeats averaged first), or a share such as
`stop_reason/length`.

Quantiles and Gini do not merge, so a step is computed from all its samples or not at all. If all
samples have the same environment, it gets one row with `what` = "env" and no others: its statistics
are those of all samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.strict_json import parsed

from . import statistic
from .rows import Floats, Ints, stretch_starts
from .statistic import NAMES, Inside

LENGTHS = ("prompt_tokens", "completion_tokens", "response_tokens")
NUMBERS = (
    *("reward", "score", "advantage"),
    *LENGTHS,
    *("turns", "tool_calls", "tool_failures", "off_policy_steps"),
    *("generate_seconds", "tool_seconds", "reward_seconds"),
)
COLUMNS = (
    *(arrow.ESCAPED, "id", "step", "env", "split", "group", "task", "repeat"),
    *("trained", "discard_reason", "stop_reason", "rewards", "sample_metrics"),
    *NUMBERS,
)
GROUPED = tuple(f.name for f in fields(Inside) if f.name != "step")


@dataclass(slots=True)
class Bounds:
    """Declared ranges: of rewards by environment, of components and sample metrics by name."""

    declared: Mapping[str, Any]

    def of(self, what: str, envs: list[str], env: Ints) -> tuple[Floats, Floats]:
        """The range of every sample, NaN if none is declared. A length starts at 0."""
        if what in LENGTHS:
            return np.zeros(len(env)), np.full(len(env), np.nan)
        pairs = np.array([self._pair(what, name) for name in envs] or [(np.nan, np.nan)], np.float64)
        return pairs[env, 0], pairs[env, 1]

    def _pair(self, what: str, env: str) -> tuple[float, float]:
        declared = {**self.declared, **(self.declared.get("environments") or {}).get(env, {})}
        if what in ("reward", "score", "task/reward"):
            pair = (declared.get("reward_min"), declared.get("reward_max"))
        else:
            ranges = declared.get("metrics_ranges") or {}
            pair = tuple(ranges.get(what.split("/", 1)[-1], (None, None)))
        low, high = (np.nan if bound is None else float(bound) for bound in pair)
        return low, high


@dataclass(slots=True)
class Samples:
    """The columns of samples that the statistics read, as arrays."""

    step: Ints
    env: Ints
    envs: list[str]
    group: Ints
    task: Ints
    repeat: Ints | None  # of its group; None if every sample is a repeat of its own
    fate: Ints  # -1 unknown, 0 discarded, 1 trained
    values: dict[str, Floats] = field(default_factory=dict)
    shares: dict[str, Floats] = field(default_factory=dict)


@np.errstate(invalid="ignore", over="ignore")  # the spread of an infinite reward is NaN, without a warning
def rollup(rows: pa.Table, declared: Mapping[str, Any]) -> pa.Table:
    """The statistics of samples that have a step and are not of an evaluation."""
    keep = pc.and_(rows["step"].is_valid(), pc.fill_null(pc.not_equal(rows["split"], "eval"), True))
    samples, bounds = _samples(rows.filter(keep)), Bounds(declared)
    parts = list(_only_env(samples))
    for env, index in _by_env(samples):
        for what, values in samples.values.items():
            parts += [{"env": env, **part} for part in _value(samples, index, what, values, bounds)]
        for what, values in samples.shares.items():
            shares = _share(samples, index, values, only_some="/" in what)
            parts += [{"env": env, "what": what, **part} for part in shares]
    return _table(parts)


def _by_env(samples: Samples) -> Iterator[tuple[str, Ints]]:
    """The rows of all samples, then of each environment if there are several."""
    yield "", np.arange(len(samples.step))
    for i, name in enumerate(samples.envs if len(samples.envs) > 1 else ()):
        if name:
            yield name, np.flatnonzero(samples.env == i)


def _only_env(samples: Samples) -> Iterator[dict[str, Any]]:
    """The row that names the environment, if all samples have the same."""
    if len(samples.envs) == 1 and samples.envs[0]:
        every = np.arange(len(samples.step))
        for part in _share(samples, every, np.ones(len(every)), only_some=False):
            if not part["fate"]:
                yield {"env": samples.envs[0], "what": "env", **part}


def _samples(rows: pa.Table) -> Samples:
    env, envs = _words(rows["env"])
    group, _ = _words(pc.coalesce(rows["group"], rows["task"], rows["id"]))
    task, _ = _words(pc.coalesce(rows["task"], rows["group"], rows["id"]))
    discarded = np.asarray(pc.fill_null(pc.not_equal(rows["discard_reason"], ""), False))
    trained = np.asarray(pc.fill_null(rows["trained"].cast(pa.int64()), -1))
    fate = np.where((trained < 0) & discarded, 0, trained)
    samples = Samples(np.asarray(rows["step"]), env, envs, group, task, _repeats(rows["repeat"], group), fate)
    for name in NUMBERS:
        if rows[name].null_count < len(rows):
            samples.values[name] = _floats(rows[name])
    aborted = samples.values["completion_tokens"] == 0 if "completion_tokens" in samples.values else None
    for column in ("rewards", "sample_metrics"):
        samples.values |= {f"{column}/{name}": values for name, values in _named(rows, column).items()}
    if aborted is not None:  # an empty answer counts in lengths and groups, not in means over sequences
        samples.shares["aborted"] = aborted.astype(np.float64)
    _add_shares(samples, rows)
    return samples


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan))


def _words(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()


def _named(rows: pa.Table, column: str) -> dict[str, Floats]:
    """The numbers of a JSON column, by name. In a name, a lone surrogate becomes `?`."""
    numbers: dict[str, Floats] = {}
    if rows[column].null_count == len(rows):
        return numbers
    stored = rows.select([c for c in (column, arrow.ESCAPED) if c in rows.column_names])
    for i, text in enumerate(arrow.numpy(stored, {})[column]):
        members = None if text is None else parsed(text)
        for name, value in members.items() if isinstance(members, dict) else ():
            if isinstance(value, int | float | bool):
                numbers.setdefault(name.encode("utf-8", "replace").decode(), np.full(len(rows), np.nan))[i] = value
    return numbers


def _add_shares(samples: Samples, rows: pa.Table) -> None:
    settled = samples.fate >= 0
    for column, known in (("stop_reason", np.asarray(rows["stop_reason"].is_valid())), ("discard_reason", settled)):
        code, words = _words(rows[column])
        if known.any():
            samples.shares[column] = np.where(known, 1.0, np.nan)  # how many samples could have one
        for i, word in enumerate(words):
            if word and known.any():
                samples.shares[f"{column}/{word}"] = np.where(known, (code == i).astype(np.float64), np.nan)
    if settled.any():
        samples.shares["discarded"] = np.where(settled, (samples.fate == 0).astype(np.float64), np.nan)


def _fates(fate: Ints) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    yield "", np.ones(len(fate), bool)
    if (fate >= 0).any():
        yield from (("generated", fate >= 0), ("trained", fate == 1), ("discarded", fate == 0))


def _value(samples: Samples, rows: Ints, what: str, values: Floats, bounds: Bounds) -> Iterator[dict[str, Any]]:
    rows = rows[~np.isnan(values[rows])]
    rows = rows[np.lexsort((values[rows], samples.step[rows]))]
    grouped = what in ("reward", "completion_tokens") or "/" in what
    counted = rows if what in LENGTHS or "aborted" not in samples.shares else rows[samples.shares["aborted"][rows] == 0]
    inside = _inside(samples, rows, what, values, bounds) if grouped else {}
    for fate, mask in _fates(samples.fate[counted]):
        index = counted[mask]
        step, stats = statistic.of_stretches(samples.step[index], values[index])
        yield {"what": what, "fate": fate, "step": step, **stats, **_matched(step, inside.get(fate))}
    if what == "reward":
        yield from _by_task(samples, counted, values)


def _inside(samples: Samples, rows: Ints, what: str, values: Floats, bounds: Bounds) -> dict[str, Inside]:
    rows = rows[np.lexsort((values[rows], samples.group[rows], samples.step[rows]))]
    low, high = bounds.of(what, samples.envs, samples.env[rows])
    step, group, x = samples.step[rows], samples.group[rows], values[rows]
    return {
        fate: statistic.inside_groups(step[m], group[m], x[m], low[m], high[m])
        for fate, m in _fates(samples.fate[rows])
    }


def _matched(step: Ints, inside: Inside | None) -> dict[str, Floats]:
    """Group statistics for these steps. A step may have groups but no sequence that counts."""
    if inside is None:
        return {}
    at = np.searchsorted(inside.step, step)
    return {name: getattr(inside, name)[at] for name in GROUPED}


def _repeats(column: pa.ChunkedArray, group: Ints) -> Ints | None:
    """The repeat of each sample; one without is a repeat of its own.

    None if no repeat of a group has several samples, as far as one count can tell.
    """
    if column.null_count == len(column):
        return None
    repeat = np.asarray(pc.fill_null(column.cast(pa.int64()), -1))
    repeat = np.where(repeat < 0, repeat.max() + 1 + np.arange(len(repeat)), repeat)
    most = int(repeat.max()) + 1
    few = (int(group.max()) + 1) * most <= 8 * len(group) + 1_000_000
    alone = few and np.bincount(group.astype(np.int64) * most + repeat).max() < 2
    return None if alone else repeat


def _of_repeats(samples: Samples, index: Ints, values: Floats) -> tuple[Ints, Floats]:
    """The first sample of every repeat, by step and task, and the mean over its samples."""
    if samples.repeat is None:
        index = index[np.lexsort((samples.task[index], samples.step[index]))]
        return index, values[index]
    keys = (samples.repeat[index], samples.group[index], samples.task[index], samples.step[index])
    index = index[np.lexsort(keys)]
    starts = stretch_starts(samples.step[index], samples.task[index], samples.group[index], samples.repeat[index])
    return index[starts], np.add.reduceat(values[index], starts) / np.diff([*starts, len(index)])


def _by_task(samples: Samples, rows: Ints, values: Floats) -> Iterator[dict[str, Any]]:
    for fate, mask in _fates(samples.fate[rows]):
        if not mask.any():
            continue
        index, x = _of_repeats(samples, rows[mask], values)
        starts = stretch_starts(samples.step[index], samples.task[index])
        means = np.add.reduceat(x, starts) / np.diff([*starts, len(index)])
        step = samples.step[index][starts]
        order = np.lexsort((means, step))
        keys, stats = statistic.of_stretches(step[order], means[order])
        yield {"what": "task/reward", "fate": fate, "step": keys, **stats}


def _share(samples: Samples, rows: Ints, values: Floats, only_some: bool) -> Iterator[dict[str, Any]]:
    """How many samples could have it, and the share that do. `only_some` drops shares of 0."""
    rows = rows[~np.isnan(values[rows])]
    rows = rows[np.argsort(samples.step[rows], kind="stable")]
    for fate, mask in _fates(samples.fate[rows]):
        index = rows[mask]
        starts = stretch_starts(samples.step[index])
        n = np.diff([*starts, len(index)]).astype(np.float64)
        mean = np.add.reduceat(values[index], starts) / n if len(starts) else n
        some = mean > 0 if only_some else np.ones(len(mean), bool)
        yield {"fate": fate, "step": samples.step[index][starts][some], "n": n[some], "mean": mean[some]}


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
