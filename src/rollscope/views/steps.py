"""Statistics of each step's samples, as series under our names: rewards, lengths, groups, discards.

While no sample is marked trained or discarded, a statistic covers all samples. Once any is, there
are three: over samples whose fate is settled (`/generated`), over those in the loss (`/trained`),
and over those that are not (`discarded/...`). They are computed from the store's roll-ups, so a new
step costs only itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.live import paged
from rollscope.store.numbers.lazy_columns import Computed, JoinedRows
from rollscope.store.run import Run

if TYPE_CHECKING:
    import pyarrow as pa

Series = Mapping[str, NDArray[Any]]  # step, value, weight
Rows = Mapping[str, NDArray[Any]]  # columns of a roll-up
Key = tuple[str, str]  # what a roll-up is of, and the fate of its samples

Column = str | Callable[[Rows], NDArray[Any]]  # of a roll-up, or made from several of its columns

STATS = ("mean", "std", "min", "max", "p05", "p50", "p95")
NAMES = {  # column of samples -> name of its distribution
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
SHARE = ("step", "n", "mean")  # columns of a share
OUTCOMES = ("zero_spread", "all_pass", "all_fail", "groups", "skipped")
GINI = {"reward": "group/reward_gini", "completion_tokens": "group/length_gini"}
GINI_FOLDERS = {"rewards": "group/component_gini", "sample_metrics": "group/sample_metric_gini"}


@dataclass(slots=True)
class Parts:
    """Roll-up rows by what they are of and by fate, ascending in step."""

    rows: dict[Key, Rows]
    settled: bool  # is any sample marked trained or discarded?


def step_statistics(run: Run, env: str = "") -> dict[str, Series]:
    """Every statistic of a run's samples by name, or of one environment's samples.

    `{"reward/generated/mean": {"step", "value", "weight"}, ...}`
    """
    return run.remember(f"step statistics of {env}", lambda: _statistics(_parts(run, env)))


def _statistics(parts: Parts) -> dict[str, Series]:
    series: dict[str, Series] = {}
    totals: dict[str, Series] = {}  # zeros over the samples that have a stop reason, or a settled fate
    for (what, fate), rows in parts.rows.items():
        if what in ("stop_reason", "discard_reason"):
            totals[what] = _one(rows, lambda rows: np.zeros(len(rows["n"])), "n")
        elif _columns(what, fate, parts.settled):
            series |= _series(what, fate, rows)
    for name in series:
        column = _total_of(name)
        if column:
            series[name] = _filled(series[name], totals[column])
    return dict(sorted(series.items()))


def _total_of(name: str) -> str | None:
    """The column over whose samples a share is 0 at steps where no sample has it."""
    if name.startswith(("stop/", "length/truncated")):
        return "stop_reason"
    return "discard_reason" if name.startswith("discarded/reason/") else None


def _columns(what: str, fate: str, settled: bool) -> tuple[str, ...]:
    """The columns of a roll-up that its series need; none if it has no series.

    Once any sample is marked trained or discarded, only shares still cover all samples.
    """
    folder = what.partition("/")[0]
    if folder in SHARES:
        return SHARE if fate == "" else ()
    if folder not in DISTRIBUTIONS or (fate == "" and settled):
        return ()
    if what == "task/reward":
        return (*SHARE, "min", "max")
    gini = ("gini", "counted") if what in GINI or folder in GINI_FOLDERS else ()
    outcomes = OUTCOMES if what == "reward" and fate in ("", "generated") else ()
    return ("step", "n", *STATS, *gini, *outcomes)


def _filled(share: Series, zeros: Series) -> Series:
    """A share with 0 at the steps of `zeros` where it has no value."""
    value = zeros["value"].copy()
    value[np.searchsorted(zeros["step"], share["step"])] = share["value"]
    return {**zeros, "value": value}


def _parts(run: Run, env: str) -> Parts:
    """Roll-ups by key. The table that seldom changes is split once; the new steps each time."""
    base, fresh = run.rollup_parts()
    split: dict[str, tuple[pa.Table, Parts]] = run.companion("step parts", dict)  # by environment
    if base is not None and (env not in split or split[env][0] is not base):
        split[env] = base, _split(base, env)
    parts = split[env][1] if base is not None else Parts({}, False)
    return parts if fresh is None else _joined(parts, _split(fresh, env))


def _joined(old: Parts, new: Parts) -> Parts:
    joined, settled = dict(old.rows), old.settled or new.settled
    for key, rows in new.rows.items():
        joined[key] = rows
        if key in old.rows and _columns(*key, settled):
            joined[key] = JoinedRows(old.rows[key], rows)
    return Parts(dict(sorted(joined.items())), settled)


def _split(table: pa.Table, env: str) -> Parts:
    words = {name: table[name].combine_chunks() for name in ("what", "fate", "env")}
    lists = {name: column.dictionary.to_pylist() for name, column in words.items()}
    what, fate, env_of = (arrow.filled(column.indices, 0) for column in words.values())
    rows = _rows_of(env, arrow.filled(table["step"], 0), env_of, what, lists)
    fates = len(lists["fate"])
    code = (what * fates + fate)[rows]
    keys = {
        number: (lists["what"][number // fates], lists["fate"][number % fates])
        for number in np.flatnonzero(np.bincount(code)).tolist()
    }
    settled = any(fate == "generated" for _, fate in keys.values())
    numbers = range(fates * len(lists["what"]))
    wanted = np.array([number in keys and bool(_columns(*keys[number], settled)) for number in numbers], bool)
    rows, code = rows[wanted[code]], code[wanted[code]]
    order = np.argsort(code.astype(np.int16) if len(wanted) < 32_000 else code, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(code[order], prepend=-1)), len(order)).tolist()
    columns = {name: arrow.filled(table[name], np.nan) for name in table.column_names if name not in words}
    parts: dict[Key, Rows] = {}
    for lo, hi in pairwise(bounds):
        key, own = keys[int(code[order[lo]])], rows[order[lo:hi]]
        parts[key] = _ascending({name: columns[name][own] for name in _columns(*key, settled)})
    return Parts(_paged(parts), settled)


def _paged(parts: dict[Key, Rows]) -> dict[Key, Rows]:
    """The same rows, in a file where they are many and the process keeps them there."""
    columns = iter(paged.arrays([values for rows in parts.values() for values in rows.values()]))
    return {key: {name: next(columns) for name in rows} for key, rows in parts.items()}


def _rows_of(
    env: str, step: NDArray[np.int64], env_of: NDArray[Any], what: NDArray[Any], lists: dict[str, list[str]]
) -> NDArray[np.int64]:
    """Rows of an environment: its own, and those of all samples at steps that have no other."""
    code = {name: {word: i for i, word in enumerate(words)} for name, words in lists.items()}
    everything, own, marks = code["env"].get("", -1), code["env"].get(env, -1), code["what"].get("env", -1)
    if not env:
        return np.flatnonzero(env_of == everything)
    alone = np.unique(step[(env_of == own) & (what == marks)])
    return np.flatnonzero(((env_of == own) & (what != marks)) | ((env_of == everything) & np.isin(step, alone)))


def _ascending(rows: Rows) -> Rows:
    if (np.diff(rows["step"]) > 0).all():
        return rows
    order = np.argsort(rows["step"], kind="stable")
    return {name: values[order] for name, values in rows.items()}


def scoped(name: str, fate: str) -> str:
    """Over discarded samples `reward` is `discarded/reward`, over trained ones `reward/trained`."""
    return f"discarded/{name}" if fate == "discarded" else f"{name}/{fate}" if fate else name


def _series(what: str, fate: str, rows: Rows) -> Iterator[tuple[str, Series]]:
    folder, _, rest = what.partition("/")
    if what in NAMES or folder in FOLDERS:
        name = scoped(NAMES.get(what) or f"{FOLDERS[folder]}/{rest}", fate)
        yield from ((f"{name}/{stat}", _one(rows, stat, "n")) for stat in STATS)
        gini = GINI.get(what) or (f"{GINI_FOLDERS[folder]}/{rest}" if folder in GINI_FOLDERS else None)
        if gini:
            yield scoped(gini, fate), _one(rows, "gini", "counted")
        if what == "reward":
            yield from _outcomes(fate, rows)
    elif what == "task/reward":
        name = scoped("task_reward", fate)
        yield from ((f"{name}/{stat}", _one(rows, stat, "n")) for stat in ("mean", "min", "max"))
    else:
        yield from _shares(folder, rest, rows)


def _outcomes(fate: str, rows: Rows) -> Iterator[tuple[str, Series]]:
    """Groups by outcome, over every generated group, so that dropping groups does not hide them."""
    if fate not in ("", "generated"):
        return
    for column in ("zero_spread", "all_pass", "all_fail"):
        if np.isfinite(rows[column]).any():
            yield GROUP[column], _one(rows, column, "groups")
    yield "group/mixed", _one(rows, lambda rows: 1 - rows["zero_spread"], "groups")
    yield "group/not_counted", _one(rows, "skipped", lambda rows: rows["counted"] + rows["skipped"])


def _shares(folder: str, rest: str, rows: Rows) -> Iterator[tuple[str, Series]]:
    share = _one(rows, "mean", "n")
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


def _one(rows: Rows, value: Column, weight: Column) -> Series:
    return Computed({"step": lambda: rows["step"], "value": _of(rows, value), "weight": _of(rows, weight)})


def _of(rows: Rows, column: Column) -> Callable[[], NDArray[Any]]:
    return lambda: rows[column] if isinstance(column, str) else column(rows)
