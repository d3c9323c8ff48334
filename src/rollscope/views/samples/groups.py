"""The groups of a step: a prompt's answers beside each other, with how they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.store.numbers.rollup import Bounds
from rollscope.store.numbers.statistic import inside_groups

COLUMNS = (
    "id",
    "step",
    "time_ns",
    "group",
    "task",
    "env",
    "split",
    "repeat",
    "reward",
    "completion_tokens",
    "stop_reason",
    "trained",
    "discard_reason",
)


def groups(run: Any, step: int, order_by: str = "group", descending: bool = False) -> dict[str, Any]:
    """One entry per group, as columns: its task, how many samples, their mean, lowest and highest reward, Gini, and per sample id, reward and fate."""
    found = run.samples(step=step, columns=COLUMNS)
    names = np.array([g or t or i for g, t, i in zip(found["group"], found["task"], found["id"], strict=True)], object)
    keep = np.array([split != "eval" for split in found["split"]], bool)
    rows: dict[str, list[int]] = {}
    for i in np.flatnonzero(keep).tolist():
        rows.setdefault(names[i], []).append(i)
    out: dict[str, list[Any]] = {}
    for name, members in rows.items():
        members.sort(key=lambda i: (_or(found["repeat"][i], 0), found["id"][i]))
        for key, value in _group(found, name, members, Bounds(run.declared)).items():
            out.setdefault(key, []).append(value)
    return _ordered(out, order_by, descending)


def _group(found: dict[str, Any], name: str, members: list[int], bounds: Bounds) -> dict[str, Any]:
    reward = np.asarray(found["reward"][members], np.float64)
    first = members[0]
    known = np.sort(reward[~np.isnan(reward)])
    return {
        "group": name,
        "task": found["task"][first],
        "env": found["env"][first],
        "samples": len(members),
        "reward_mean": float(known.mean()) if len(known) else np.nan,
        "reward_min": float(known[0]) if len(known) else np.nan,
        "reward_max": float(known[-1]) if len(known) else np.nan,
        **_spread(known, found["env"][first] or "", bounds),
        "tokens_max": float(np.nanmax(tokens))
        if np.isfinite(tokens := np.asarray(found["completion_tokens"][members], np.float64)).any()
        else np.nan,
        "trained": sum(found["trained"][i] is True or found["trained"][i] == 1 for i in members),
        "ids": [found["id"][i] for i in members],
        "rewards": reward.tolist(),
        "fates": [_fate(found["trained"][i], found["discard_reason"][i]) for i in members],
    }


def _spread(known: Any, env: str, bounds: Bounds) -> dict[str, Any]:
    if len(known) < 2:
        return {"gini": np.nan, "zero_spread": None}
    one = np.zeros(len(known), np.int64)
    low, high = bounds.of("reward", [env], one)
    inside = inside_groups(one, one, known, low, high)
    return {"gini": float(inside.gini[0]), "zero_spread": bool(inside.zero_spread[0] == 1)}


def _fate(trained: Any, reason: str | None) -> str:
    return (
        "trained"
        if trained is True or trained == 1
        else reason or ("discarded" if trained is False or trained == 0 else "")
    )


def _or(value: Any, other: Any) -> Any:
    return other if value is None or value != value else value


def _ordered(out: dict[str, list[Any]], order_by: str, descending: bool) -> dict[str, Any]:
    if not out:
        return {}
    keys = out[order_by]
    order = sorted(
        range(len(keys)),
        key=lambda i: _or(keys[i], -np.inf) if isinstance(keys[i], float) else keys[i],
        reverse=descending,
    )
    return {key: [values[i] for i in order] for key, values in out.items()}
