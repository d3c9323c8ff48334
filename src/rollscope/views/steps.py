"""What the samples of each step say: rewards, lengths, groups, discards, as series under our names.

Over all samples where nothing is known about their fate; else side by side for those whose fate was settled (`/generated`), those in the loss
(`/trained`) and those that were not (`discarded/...`). Read from the store's roll-ups, so asking again costs the steps that are new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store import arrow

if TYPE_CHECKING:
    import pyarrow as pa

Series = dict[str, NDArray[Any]]  # step, value, weight
Rows = dict[str, NDArray[Any]]  # columns of the store's roll-up

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
GROUP = {
    "gini": "group/reward_gini",
    "zero_spread": "group/zero_spread",
    "all_pass": "group/all_pass",
    "all_fail": "group/all_fail",
}
DISTRIBUTIONS = {*NAMES, *FOLDERS, "task"}
SHARES = {"stop_reason", "discard_reason", "discarded", "aborted"}
SHARE = ("step", "n", "mean")  # all that is known of one
OUTCOMES = ("zero_spread", "all_pass", "all_fail", "groups", "skipped")
GINI = {"reward": "group/reward_gini", "completion_tokens": "group/length_gini"}
GINI_FOLDERS = {"rewards": "group/component_gini", "sample_metrics": "group/sample_metric_gini"}


@dataclass(slots=True)
class Parts:
    """What series are made of, by what and over which samples, and whether the fate of any sample is settled."""

    rows: dict[tuple[str, str], Rows]
    settled: bool


def step_statistics(run: Any, env: str = "") -> dict[str, Series]:
    """Every statistic of a run's samples by name: `{"reward/generated/mean": {"step", "value", "weight"}, ...}`. `env` is one environment's alone."""
    parts = _parts(run, env)
    out: dict[str, Series] = {}
    could: dict[str, Series] = {}  # how many samples had a reason to stop, or a settled fate
    for (what, fate), rows in parts.rows.items():
        if what in ("stop_reason", "discard_reason"):
            could[what] = _one(rows, np.zeros(len(rows["n"])), rows["n"])
        elif _columns(what, fate, parts.settled):
            out |= _series(what, fate, rows)
    for name in out:
        column = (
            "stop_reason"
            if name.startswith(("stop/", "length/truncated"))
            else "discard_reason"
            if name.startswith("discarded/reason/")
            else None
        )
        if column:
            out[name] = _filled(out[name], could[column])
    return dict(sorted(out.items()))


def _columns(what: str, fate: str, settled: bool) -> tuple[str, ...]:
    """The columns of a roll-up that a series is made of, if there is one. Where fates are settled, none is over all samples but a share."""
    folder = what.partition("/")[0]
    if folder in SHARES:
        return SHARE if fate == "" else ()
    if folder not in DISTRIBUTIONS or (fate == "" and settled):
        return ()
    if what == "task/reward":
        return (*SHARE, "min", "max")
    gini = ("gini", "counted") if what in GINI or folder in GINI_FOLDERS else ()
    return ("step", "n", *STATS, *gini, *(OUTCOMES if what == "reward" and fate in ("", "generated") else ()))


def _filled(found: Series, could: Series) -> Series:
    """0 where a step had samples that could have stopped so, and none that did."""
    value = could["value"].copy()
    value[np.searchsorted(could["step"], found["step"])] = found["value"]
    return {**could, "value": value}


def _parts(run: Any, env: str) -> Parts:
    """Rows of each (what, fate), ascending in step. What is kept is taken apart once; a step that was added costs itself."""
    base, fresh = run.rollup_parts()
    taken = run.__dict__.setdefault("step_parts", {})  # env -> the table, and its parts
    if base is not None and (env not in taken or taken[env][0] is not base):
        taken[env] = base, _apart(base, env)
    found = taken[env][1] if base is not None else Parts({}, False)
    return found if fresh is None else _joined(found, _apart(fresh, env))


def _joined(kept: Parts, added: Parts) -> Parts:
    out, settled = dict(kept.rows), kept.settled or added.settled
    for key, rows in added.rows.items():
        out[key] = rows
        if key in kept.rows and _columns(*key, settled):
            out[key] = _ascending(
                {name: np.concatenate([values, rows[name]]) for name, values in kept.rows[key].items()}
            )
    return Parts(dict(sorted(out.items())), settled)


def _apart(table: pa.Table, env: str) -> Parts:
    words = {name: table[name].combine_chunks() for name in ("what", "fate", "env")}
    lists = {name: column.dictionary.to_pylist() for name, column in words.items()}
    what, fate, of = (arrow.filled(column.indices, 0) for column in words.values())
    rows = _rows_of(env, arrow.filled(table["step"], 0), of, what, lists)
    fates = len(lists["fate"])
    code = (what * fates + fate)[rows]
    keys = {
        number: (lists["what"][number // fates], lists["fate"][number % fates])
        for number in np.flatnonzero(np.bincount(code)).tolist()
    }
    settled = any(fate == "generated" for _, fate in keys.values())
    asked = np.array(
        [key in keys and bool(_columns(*keys[key], settled)) for key in range(fates * len(lists["what"]))], bool
    )
    rows, code = rows[asked[code]], code[asked[code]]
    order = np.argsort(code.astype(np.int16) if len(asked) < 32_000 else code, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(code[order], prepend=-1)), len(order)).tolist()
    numbers = {name: arrow.filled(table[name], np.nan) for name in table.column_names if name not in words}
    out: dict[tuple[str, str], Rows] = {}
    for lo, hi in pairwise(bounds):
        key, own = keys[int(code[order[lo]])], rows[order[lo:hi]]
        out[key] = _ascending({name: numbers[name][own] for name in _columns(*key, settled)})
    return Parts(out, settled)


def _rows_of(
    env: str, step: NDArray[np.int64], of: NDArray[Any], what: NDArray[Any], lists: dict[str, list[str]]
) -> NDArray[np.int64]:
    """Rows of an environment: its own, and those of all samples where all are of it."""
    code = {name: {word: i for i, word in enumerate(words)} for name, words in lists.items()}
    everything, own, marks = code["env"].get("", -1), code["env"].get(env, -1), code["what"].get("env", -1)
    if not env:
        return np.flatnonzero(of == everything)
    alone = np.unique(step[(of == own) & (what == marks)])
    return np.flatnonzero(((of == own) & (what != marks)) | ((of == everything) & np.isin(step, alone)))


def _ascending(rows: Rows) -> Rows:
    if (np.diff(rows["step"]) > 0).all():
        return rows
    order = np.argsort(rows["step"], kind="stable")
    return {name: values[order] for name, values in rows.items()}


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
