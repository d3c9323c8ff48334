"""The samples of a step as columns, grouped, without their texts.

Words are coded (a column of numbers and a list of words), so ten thousand samples are a few arrays.
A sample without a group stands alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.numbers import statistic
from rollscope.store.numbers.rollup import Bounds
from rollscope.store.run import Run
from rollscope.strict_json import parsed

from .coded import Codes, coded
from .scans import scans_of_step

NUMBERS = ("reward", "score", "advantage", "completion_tokens", "turns", "tool_calls", "tool_failures")
WORDS = ("env", "stop_reason", "discard_reason", "tags", "split")
PARTS = ("rewards", "sample_metrics")
COLUMNS = ("id", "step", "group", "task", "repeat", *WORDS, *NUMBERS, *PARTS, "trained")
UNKNOWN, TRAINED, DROPPED, EVAL = 0, 1, 2, 3  # fates
LISTS = ((TRAINED,), (UNKNOWN, TRAINED, DROPPED), (EVAL,))  # fates a list may show, in order of preference
MOST_UNPLACED = 10_000  # newest samples without a step that are shown
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(slots=True)
class Rollouts:
    """Samples ordered by group, then by repeat."""

    step: int | None  # None: the samples name no step
    ids: list[str]
    group: NDArray[np.uint32]  # index into `groups`
    groups: list[str]
    tasks: list[str]  # one per group
    gini: Floats  # one per group; NaN if fewer than two samples have a reward
    fate: NDArray[np.uint8]
    numbers: dict[str, Floats]  # NaN: no value
    codes: dict[str, Codes]
    words: dict[str, list[str]]
    parts: dict[str, Floats] = field(default_factory=dict)  # rewards/<component>, sample_metrics/<name>, scan/<name>

    @property
    def rewards(self) -> Floats:
        """The rewards. An evaluation without rewards has its scores."""
        reward, score = self.numbers["reward"], self.numbers["score"]
        return np.where((self.fate == EVAL) & np.isnan(reward), score, reward)


def rollouts(run: Run, step: int | None) -> Rollouts:
    """The samples of a step; for None, the newest that name no step.

    An evaluation's samples form groups of their own, after the others.
    """
    rows = _of_step(run, step)
    rows, names, labels, evaluated = _ordered(rows)
    numbering = _first_seen(2 * names.astype(np.int64) + evaluated)
    _, first, group = np.unique(numbering, return_index=True, return_inverse=True)
    tasks, task_names = coded(rows, "task", "group", "id")
    ids, id_names = coded(rows, "id")
    words = {name: coded(rows, name) for name in WORDS}
    table = Rollouts(
        step=step,
        ids=[id_names[i] for i in ids],
        group=group.astype(np.uint32),
        groups=[labels[names[i]] for i in first],
        tasks=[task_names[tasks[i]] for i in first],
        gini=np.full(len(first), np.nan),
        fate=_fates(rows, evaluated),
        numbers={name: _floats(rows[name]) for name in NUMBERS},
        codes={name: codes for name, (codes, _) in words.items()},
        words={name: distinct for name, (_, distinct) in words.items()},
        parts={f"{column}/{name}": values for column in PARTS for name, values in members(rows, column).items()},
    )
    if step is not None:
        table.parts |= scans_of_step(run, step, table.ids)
    table.gini = _gini(table, run.declared)
    return table


def _of_step(run: Run, step: int | None) -> pa.Table:
    if step is None:
        where, newest = "step is null", "time_ns desc"
        return run.samples(where, newest, MOST_UNPLACED, columns=COLUMNS, as_arrow=True)
    return run.samples(step=step, columns=COLUMNS, as_arrow=True)


def _ordered(rows: pa.Table) -> tuple[pa.Table, Codes, list[str], NDArray[np.bool_]]:
    """Rows by group and repeat, evaluations last; group codes, labels, and the evaluation mask."""
    split, splits = coded(rows, "split")
    evaluated = split == (splits.index("eval") if "eval" in splits else -1)
    names, labels = coded(rows, "group", "task", "id")
    order = np.lexsort((np.asarray(pc.fill_null(rows["repeat"], 0)), names, evaluated))
    return rows.take(pa.array(order)), names[order], labels, evaluated[order]


def _first_seen(codes: Ints) -> Ints:
    """Codes renumbered by first appearance."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], np.int64)


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan), np.float64)


def _fates(rows: pa.Table, evaluated: NDArray[np.bool_]) -> NDArray[np.uint8]:
    trained = np.asarray(pc.fill_null(rows["trained"].cast(pa.int64()), -1))
    reason = np.asarray(pc.fill_null(pc.not_equal(rows["discard_reason"], ""), False))
    fate = np.where(trained == 1, TRAINED, np.where((trained == 0) | reason, DROPPED, UNKNOWN))
    return np.where(evaluated, EVAL, fate).astype(np.uint8)


def members(rows: pa.Table, column: str) -> dict[str, Floats]:
    """A column of JSON objects as one column of numbers per key. Equal objects are parsed once."""
    index, texts = coded(rows, column)
    objects = [parsed(text) if text else {} for text in texts]
    names = dict.fromkeys(name for cell in objects if isinstance(cell, Mapping) for name in cell)
    return {name: np.array([_number(cell, name) for cell in objects])[index] for name in names}


def _number(cell: Any, name: str) -> float:
    try:
        value = cell.get(name)
        return float("nan") if value is None else float(value)
    except (TypeError, ValueError, AttributeError):
        return float("nan")


def _gini(table: Rollouts, declared: Mapping[str, Any]) -> Floats:
    """The Gini of each group's rewards above the declared minimum."""
    reward, group = table.numbers["reward"], table.group.astype(np.int64)
    low, high = Bounds(declared).of("reward", table.words["env"], table.codes["env"].astype(np.int64))
    known = np.flatnonzero(~np.isnan(reward))
    order = known[np.lexsort((reward[known], group[known]))]
    gini = np.full(len(table.groups), np.nan)
    if len(order):
        # Each group is passed as a step of its own, because `inside_groups` averages over a step.
        each = statistic.inside_groups(group[order], group[order], reward[order], low[order], high[order])
        gini[each.step] = each.gini
    return gini


def opening_samples(table: Rollouts, most: int) -> list[int]:
    """Rows of the samples that a list opens with.

    The list shows samples that were trained on, else all, else the evaluation. Its first group has
    the lowest mean reward; from it come the worst sample, the best, the second worst, and so on.
    """
    lists = (np.flatnonzero(np.isin(table.fate, fates)) for fates in LISTS)
    listed = next((rows for rows in lists if len(rows)), np.empty(0, np.int64))
    if not len(listed):
        return []
    reward = table.rewards
    order = listed[np.lexsort((-reward[listed], table.group[listed]))]  # NaN comes last
    group = table.group[order].astype(np.int64)
    best_first = order[group == _worst_group(group, reward[order])].tolist()
    inwards = [row for k in range(len(best_first)) for row in (best_first[-1 - k], best_first[k])]
    return list(dict.fromkeys(inwards))[:most]


def _worst_group(group: Ints, reward: Floats) -> int:
    """The group with the lowest mean reward; the first if no reward is known."""
    known = ~np.isnan(reward)
    if not known.any():
        return int(group[0])
    with np.errstate(invalid="ignore"):
        mean = np.bincount(group, np.where(known, reward, 0.0)) / np.bincount(group, known)
    return int(np.argmin(np.where(np.isnan(mean), np.inf, mean)))
