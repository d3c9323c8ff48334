"""The groups of a step: the answers to one prompt side by side, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rollscope.store.numbers.rollup import Bounds
from rollscope.store.numbers.statistic import inside_groups
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.views import nullable

COLUMNS = (
    *("id", "step", "time_ns", "group", "task", "env", "split", "repeat"),
    *("reward", "completion_tokens", "stop_reason", "trained", "discard_reason"),
)


def groups(run: Run, step: int, order_by: str = "group", descending: bool = False) -> dict[str, Any]:
    """One entry per group, as columns.

    Each has its task, its number of samples, their mean, lowest and highest reward, the Gini, and
    the id, reward and fate of each sample.
    """
    samples = run.samples(step=step, columns=COLUMNS)
    bounds = Bounds(run.declared)
    entries = [_group(samples, name, rows, bounds) for name, rows in _members(samples).items()]
    entries.sort(key=lambda entry: _sort_key(entry[order_by]), reverse=descending)
    return {key: [entry[key] for entry in entries] for key in entries[0]} if entries else {}


def _members(samples: Columns) -> dict[str, list[int]]:
    """Group -> rows of its samples by repeat. Evaluations are left out."""
    members: dict[str, list[int]] = {}
    for i, names in enumerate(zip(samples["group"], samples["task"], samples["id"], strict=True)):
        if samples["split"][i] != "eval":
            members.setdefault(group_name(*names), []).append(i)
    for rows in members.values():
        rows.sort(key=lambda i: (nullable.integer(samples["repeat"][i]) or 0, samples["id"][i]))
    return members


def group_name(group: str | None, task: str | None, id: str) -> str:
    """A sample without a group belongs to its task's; without a task it stands alone."""
    return group or task or id


def _group(samples: Columns, name: str, rows: Sequence[int], bounds: Bounds) -> dict[str, Any]:
    reward = np.asarray(samples["reward"][rows], np.float64)
    tokens = np.asarray(samples["completion_tokens"][rows], np.float64)
    known = np.sort(reward[~np.isnan(reward)])
    env = samples["env"][rows[0]]
    return {
        "group": name,
        "task": samples["task"][rows[0]],
        "env": env,
        "samples": len(rows),
        "reward_mean": float(known.mean()) if len(known) else np.nan,
        "reward_min": float(known[0]) if len(known) else np.nan,
        "reward_max": float(known[-1]) if len(known) else np.nan,
        **_spread(known, env or "", bounds),
        "tokens_max": float(np.nanmax(tokens)) if np.isfinite(tokens).any() else np.nan,
        "trained": sum(_is(samples["trained"][i], True) for i in rows),
        "ids": [samples["id"][i] for i in rows],
        "rewards": reward.tolist(),
        "fates": [_fate(samples["trained"][i], samples["discard_reason"][i]) for i in rows],
    }


def _spread(known: Any, env: str, bounds: Bounds) -> dict[str, Any]:
    if len(known) < 2:
        return {"gini": np.nan, "zero_spread": None}
    one = np.zeros(len(known), np.int64)
    low, high = bounds.of("reward", [env], one)
    inside = inside_groups(one, one, known, low, high)
    return {"gini": float(inside.gini[0]), "zero_spread": bool(inside.zero_spread[0] == 1)}


def _fate(trained: Any, reason: str | None) -> str:
    if _is(trained, True):
        return "trained"
    return reason or ("discarded" if _is(trained, False) else "")


def _is(trained: Any, value: bool) -> bool:
    return trained is value or trained == int(value)


def _sort_key(value: Any) -> Any:
    return -np.inf if isinstance(value, float) and value != value else value
