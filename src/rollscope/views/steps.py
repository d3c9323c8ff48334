"""What the samples of each step say: rewards, lengths, groups, discards, as series under our names.

Over all samples where nothing is known about their fate; else side by side for those whose fate was settled (`/generated`), those in the loss
(`/trained`) and those that were not (`discarded/...`). Read from the store's roll-ups, so asking again costs the steps that are new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Series = dict[str, NDArray[Any]]  # step, value, weight

STATS = ("mean", "std", "min", "max", "p05", "p50", "p95")
NAMES = {  # a column of samples, and the distribution it is
    "reward": "reward",
    "score": "score",
    "prompt_tokens": "length/prompt",
    "completion_tokens": "length/completion",
    "response_tokens": "length/response",
    "turns": "turns",
    "tool_calls": "tool/calls",
    "tool_failures": "tool/failures",
    "off_policy_steps": "staleness",
}
FOLDERS = {"rewards": "reward_component", "sample_metrics": "sample_metric"}
GROUP = {"gini": "group/reward_gini", "zero_spread": "group/zero_spread", "all_pass": "group/all_pass", "all_fail": "group/all_fail"}
DISTRIBUTIONS = {*NAMES, *FOLDERS, "task"}
GINI = {"reward": "group/reward_gini", "completion_tokens": "group/length_gini"}
GINI_FOLDERS = {"rewards": "group/component_gini", "sample_metrics": "group/sample_metric_gini"}


def step_statistics(run: Any, env: str = "") -> dict[str, Series]:
    """Every statistic of a run's samples by name: `{"reward/generated/mean": {"step", "value", "weight"}, ...}`. `env` is one environment's alone."""
    table = run.rollups()
    table = table.filter(pc.equal(table["env"].cast(pa.string()), env)) if env or _several(table) else table
    out: dict[str, Series] = {}
    could: dict[tuple[str, str], Series] = {}  # how many samples had a reason to stop, or a settled fate
    settled = "generated" in set(_words(table, "fate"))
    for what, fate, rows in _parts(table):
        if what in ("stop_reason", "discard_reason"):
            could[what, fate] = _one(rows, np.zeros(len(rows["n"])), rows["n"])
        elif (fate != "" or not settled) if what.partition("/")[0] in DISTRIBUTIONS else fate == "":
            out |= _series(what, fate, rows)
    for name in out:
        column = "stop_reason" if name.startswith(("stop/", "length/truncated")) else "discard_reason" if name.startswith("discarded/reason/") else None
        if column:
            out[name] = _filled(out[name], could[column, ""])
    return dict(sorted(out.items()))


def _filled(found: Series, could: Series) -> Series:
    """0 where a step had samples that could have stopped so, and none that did."""
    value = could["value"].copy()
    value[np.searchsorted(could["step"], found["step"])] = found["value"]
    return {**could, "value": value}


def _several(table: pa.Table) -> bool:
    return len(set(_words(table, "env"))) > 1


def _words(table: pa.Table, name: str) -> list[str]:
    found: list[str] = pc.unique(table[name].cast(pa.string())).to_pylist()
    return found


def _parts(table: pa.Table) -> Iterator[tuple[str, str, dict[str, NDArray[Any]]]]:
    """Rows of each (what, fate), ascending in step."""
    if not len(table):
        return
    what, fate = (
        table[name].combine_chunks().dictionary_encode() if not pa.types.is_dictionary(table[name].type) else table[name].combine_chunks()
        for name in ("what", "fate")
    )
    whats, fates = what.dictionary.to_pylist(), fate.dictionary.to_pylist()
    step = table["step"].to_numpy()
    code = what.indices.to_numpy() * len(fates) + fate.indices.to_numpy()
    order = np.lexsort((step, code))
    bounds = np.append(np.flatnonzero(np.diff(code[order], prepend=-1)), len(order))
    numbers = {name: table[name].to_numpy() for name in table.column_names if name not in ("what", "fate", "env")}
    for lo, hi in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[lo:hi]
        yield whats[code[rows[0]] // len(fates)], fates[code[rows[0]] % len(fates)], {name: values[rows] for name, values in numbers.items()}


def scoped(name: str, fate: str) -> str:
    """`reward` over the discarded is `discarded/reward`, over the trained `reward/trained`."""
    return f"discarded/{name}" if fate == "discarded" else f"{name}/{fate}" if fate else name


def _series(what: str, fate: str, rows: dict[str, NDArray[Any]]) -> Iterator[tuple[str, Series]]:
    folder, _, rest = what.partition("/")
    if what in NAMES or folder in FOLDERS:
        name = scoped(NAMES.get(what) or f"{FOLDERS[folder]}/{rest}", fate)
        yield from ((f"{name}/{stat}", _one(rows, rows[stat], rows["n"])) for stat in STATS)
        gini = GINI.get(what) or (f"{GINI_FOLDERS[folder]}/{rest}" if folder in GINI_FOLDERS else None)
        if gini:
            yield scoped(gini, fate), _one(rows, rows["gini"], rows["counted"])
        if what == "reward":
            yield from _outcomes(fate, rows)
    elif what == "task/reward":
        name = scoped("task_reward", fate)
        yield from ((f"{name}/{stat}", _one(rows, rows[stat], rows["n"])) for stat in ("mean", "min", "max"))
    else:
        yield from _shares(folder, rest, rows)


def _outcomes(fate: str, rows: dict[str, NDArray[Any]]) -> Iterator[tuple[str, Series]]:
    """Groups without spread, over every generated group: dropping them must not hide them."""
    if fate not in ("", "generated"):
        return
    for column in ("zero_spread", "all_pass", "all_fail"):
        if np.isfinite(rows[column]).any():
            yield GROUP[column], _one(rows, rows[column], rows["groups"])
    yield "group/mixed", _one(rows, 1 - rows["zero_spread"], rows["groups"])
    yield "group/not_counted", _one(rows, rows["skipped"], rows["counted"] + rows["skipped"])


def _shares(folder: str, rest: str, rows: dict[str, NDArray[Any]]) -> Iterator[tuple[str, Series]]:
    share = _one(rows, rows["mean"], rows["n"])
    if folder == "stop_reason":
        yield f"stop/{rest}", share
        if rest == "length":
            yield "length/truncated", share
    elif folder == "discard_reason":
        yield f"discarded/reason/{rest}", share
    elif folder == "discarded":
        yield "discarded/share", share
    elif folder == "aborted":
        yield "length/aborted", share


def _one(rows: dict[str, NDArray[Any]], value: NDArray[Any], weight: NDArray[Any]) -> Series:
    return {"step": rows["step"], "value": value, "weight": weight}
