"""The samples of a step as columns, grouped: what a list of rollouts shows before any text is read.

Words are coded (a column of numbers and a list of words), so that ten thousand samples are a few arrays. A sample without a group stands alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.numbers import statistic
from rollscope.store.numbers.rollup import Bounds
from rollscope.store.tables import tables

COLUMNS = (
    "id", "step", "group", "task", "repeat", "env", "split", "reward", "score", "advantage", "rewards", "sample_metrics", "tags", "completion_tokens", "stop_reason", "turns",
    "tool_calls", "tool_failures", "trained", "discard_reason",
)  # fmt: skip
NUMBERS = ("reward", "score", "advantage", "completion_tokens", "turns", "tool_calls", "tool_failures")
WORDS = ("env", "stop_reason", "discard_reason", "tags", "split")
UNKNOWN, TRAINED, DROPPED, EVAL = 0, 1, 2, 3
Floats = NDArray[np.float64]


@dataclass(slots=True)
class Rollouts:
    """Samples in the order of their groups, then of their repeats."""

    step: int
    ids: list[str]
    group: NDArray[np.uint32]  # which of `groups`
    groups: list[str]
    tasks: list[str]
    gini: Floats  # one per group; NaN where fewer than two samples have a reward
    fate: NDArray[np.uint8]
    numbers: dict[str, Floats]  # NaN where there is none
    codes: dict[str, NDArray[np.uint32]]
    words: dict[str, list[str]]
    parts: dict[str, Floats] = field(default_factory=dict)  # rewards/<component> and sample_metrics/<name>


def steps(run: Any) -> NDArray[np.int64]:
    """Steps that have samples, ascending."""
    found: NDArray[np.int64] = run.remember("steps with samples", lambda: _steps(run))
    return found


def _steps(run: Any) -> NDArray[np.int64]:
    return np.sort(np.asarray(pc.unique(run.samples(columns=["step"], as_arrow=True)["step"].drop_null()), np.int64))


def newest(run: Any) -> int | None:
    """The newest step that has samples for training; in a run that only evaluates, the newest with any."""
    found: int | None = run.remember("newest step with samples", lambda: _newest(run))
    return found


def _newest(run: Any) -> int | None:
    rows = run.samples(columns=["step", "split"], as_arrow=True)
    training = rows.filter(pc.fill_null(pc.not_equal(rows["split"], "eval"), True))["step"]
    return pc.max(training if training.null_count < len(training) else rows["step"]).as_py()  # type: ignore[no-any-return]


def near(run: Any, step: int | None) -> tuple[int | None, int | None, int | None]:
    """The step with samples that is meant by a step (itself, else the last before it, else the first; without one the newest), and its neighbours that have some."""
    known = steps(run)
    if not len(known):
        return None, None, None
    meant = newest(run) if step is None else step
    at = len(known) - 1 if meant is None else max(0, int(np.searchsorted(known, meant, "right")) - 1)
    return int(known[at]), int(known[at - 1]) if at else None, int(known[at + 1]) if at + 1 < len(known) else None


def samples_of_tasks(run: Any) -> dict[str, str]:
    """One sample of each task: by it a prompt that is only known by a short id can be shown in its words."""
    found: dict[str, str] = run.remember("samples of tasks", lambda: _samples_of_tasks(run))
    return found


def _samples_of_tasks(run: Any) -> dict[str, str]:
    rows = run.samples(columns=["id", "task"], as_arrow=True)
    tasks, names = _coded(rows, "task")
    codes, first = np.unique(tasks, return_index=True)
    ids, id_names = _coded(rows.take(pa.array(first)), "id")
    return {names[code]: id_names[id] for code, id in zip(codes.tolist(), ids.tolist(), strict=True)}


def of_step(run: Any, step: int) -> Rollouts:
    rows = run.samples(step=step, columns=COLUMNS, as_arrow=True)
    split, splits = _coded(rows, "split")
    evaluated = split == (splits.index("eval") if "eval" in splits else -1)
    names, labels = _coded(rows, "group", "task", "id")
    order = np.lexsort((np.asarray(pc.fill_null(rows["repeat"], 0)), names, evaluated))
    rows, names, evaluated = rows.take(pa.array(order)), names[order], evaluated[order]
    _, first, group = np.unique(
        _first_seen(2 * names.astype(np.int64) + evaluated), return_index=True, return_inverse=True
    )  # an evaluation is a group of its own
    tasks, task_names = _coded(rows, "task", "group", "id")
    coded = {name: _coded(rows, name) for name in WORDS}
    ids, id_names = _coded(rows, "id")
    found = Rollouts(
        step, [id_names[i] for i in ids], group.astype(np.uint32), [labels[names[i]] for i in first], [task_names[tasks[i]] for i in first], np.full(len(first), np.nan), _fates(rows, evaluated),
        {name: _floats(rows[name]) for name in NUMBERS}, {name: codes for name, (codes, _) in coded.items()}, {name: words for name, (_, words) in coded.items()},
    )  # fmt: skip
    for column in ("rewards", "sample_metrics"):
        found.parts |= {f"{column}/{name}": values for name, values in members(rows, column).items()}
    found.gini = _gini(found, run.declared)
    return found


def shown_first(found: Rollouts, reward: Floats, most: int) -> list[int]:
    """Places of the samples that a list opens with: of the group that did worst the worst, the best, and so on inwards.

    The list is of those trained on, else of all, else of the evaluation.
    """
    lists = (np.flatnonzero(np.isin(found.fate, fates)) for fates in ((TRAINED,), (UNKNOWN, TRAINED, DROPPED), (EVAL,)))
    keep = next((places for places in lists if len(places)), np.empty(0, np.int64))
    if not len(keep):
        return []
    order = keep[np.lexsort((-reward[keep], found.group[keep]))]  # a lexsort is stable, and no value comes last
    group, known = found.group[order].astype(np.int64), ~np.isnan(reward[order])
    with np.errstate(invalid="ignore"):
        mean = np.bincount(group, np.where(known, reward[order], 0.0)) / np.bincount(group, known)
    members = (
        order[group == np.argmin(np.where(np.isnan(mean), np.inf, mean))].tolist()
        if known.any()
        else order[group == group[0]].tolist()
    )
    ends = [place for k in range(len(members)) for place in (members[-1 - k], members[k])]
    return list(dict.fromkeys(ends))[:most]


def _first_seen(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes renumbered by first appearance."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], np.int64)


def _coded(rows: pa.Table, *columns: str) -> tuple[NDArray[np.uint32], list[str]]:
    """The first of these texts that a row has, as codes and words."""
    if _escaped(rows, columns):
        plain = [_texts(rows, name) for name in columns]
        said = [next((text for text in texts if text is not None), "") for texts in zip(*plain, strict=True)]
        words = list(dict.fromkeys(said))
        place = {word: i for i, word in enumerate(words)}
        return np.array([place[word] for word in said], np.uint32), words
    column = pc.coalesce(*(rows[name].cast(pa.large_string()) for name in columns))
    found = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return found.indices.to_numpy(zero_copy_only=False).astype(np.uint32), found.dictionary.to_pylist()


def _escaped(rows: pa.Table, columns: Sequence[str]) -> bool:
    """Did one of these have to be escaped in some row, for a lone surrogate in it?"""
    flags = rows[arrow.ESCAPED].drop_null()
    return bool(len(flags)) and any(
        name in flag.split(",") for flag in pc.unique(flags).to_pylist() for name in columns
    )


def _texts(rows: pa.Table, name: str) -> list[str | None]:
    found: list[str | None] = arrow.numpy(rows.select([name, arrow.ESCAPED]), tables.types("samples"), parse=False)[
        name
    ].tolist()
    return found


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan), np.float64)


def _fates(rows: pa.Table, evaluated: NDArray[np.bool_]) -> NDArray[np.uint8]:
    trained = np.asarray(pc.fill_null(rows["trained"].cast(pa.int64()), -1))
    reason = np.asarray(pc.fill_null(pc.not_equal(rows["discard_reason"], ""), False))
    fate = np.where(trained == 1, TRAINED, np.where((trained == 0) | reason, DROPPED, UNKNOWN))
    return np.where(evaluated, EVAL, fate).astype(np.uint8)


def members(rows: pa.Table, column: str) -> dict[str, Floats]:
    """A column of JSON objects as one column of numbers per key; equal objects are parsed once."""
    index, texts = _coded(rows, column)
    parsed = [json.loads(text) if text else {} for text in texts]
    names = dict.fromkeys(name for cell in parsed if isinstance(cell, Mapping) for name in cell)
    return {name: np.array([_number(cell, name) for cell in parsed])[index] for name in names}


def _number(cell: Any, name: str) -> float:
    try:
        value = cell.get(name)
        return float("nan") if value is None else float(value)
    except (TypeError, ValueError, AttributeError):
        return float("nan")


def _gini(found: Rollouts, declared: Mapping[str, Any]) -> Floats:
    """Of each group's rewards, from the declared minimum; NaN where fewer than two are known."""
    reward, group = found.numbers["reward"], found.group.astype(np.int64)
    low, high = Bounds(declared).of("reward", found.words["env"], found.codes["env"].astype(np.int64))
    keep = np.flatnonzero(~np.isnan(reward))
    order = keep[np.lexsort((reward[keep], group[keep]))]
    out = np.full(len(found.groups), np.nan)
    if not len(order):
        return out
    each = statistic.inside_groups(
        group[order], group[order], reward[order], low[order], high[order]
    )  # a group as a step of its own: its own mean
    out[each.step] = each.gini
    return out
