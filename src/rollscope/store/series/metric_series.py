"""One metric of a run: every merged point, or buckets of them, over any clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput, UnknownMetric, nearest
from rollscope.store.folder import Folder
from rollscope.store.live import scope
from rollscope.store.numbers import buckets, counters
from rollscope.store.numbers.merge import Points, alive, merge
from rollscope.store.numbers.rows import Floats, Ints, Rows

CLOCKS = ("step", "time", "relative", "tokens", "samples", "env_steps", "explore_step", "epoch", "policy_version")
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def points(
    folder: Folder,
    name: str,
    *,
    rank: int | None = None,
    attempt: int | None = None,
    env: str | None = None,
    split: str | None = None,
    last: bool = False,
    rows: Rows | None = None,
) -> Points:
    """One value per step, of all ranks or of one, of the attempts that count or of one.

    An attempt given by number includes steps that a later one took over. With `last`, only files
    that reach the last step are read, and only the last step is merged. `rows` are the name's, if
    they were read before.
    """
    if name not in folder.locations():
        raise _unknown(folder, name)
    rows = _in_scope(folder.rows(name, last) if rows is None else rows, folder, env, split)
    resumed = {} if attempt is not None else folder.resumed if _counts_updates(rows, folder) else _taken_over(rows)
    if rank is not None:
        rows = rows.only(rows.rank == rank)
    if attempt is not None:
        rows = rows.only(rows.attempt == attempt)
    counted = bool((rows.kind == folder.words.code(counters.KIND)).all())
    if last and not counted:  # a running total needs its history
        rows, resumed = _of_last_step(rows, resumed), {}
    series = merge(rows, folder.words, resumed, folder.partials)
    return counters.running(series) if counted else series


def _of_last_step(rows: Rows, resumed: Mapping[int, int]) -> Rows:
    rows = rows.only(alive(rows.attempt, rows.step, resumed))
    return rows.only(rows.step == rows.step.max()) if len(rows) else rows


def _unknown(folder: Folder, name: str) -> UnknownMetric:
    known = folder.names()
    return UnknownMetric(
        f"no metric {name!r} in {folder.path}, which has {len(known)}.{nearest(name, known)}"
        " List them all: rollscope show RUN"
    )


def _counts_updates(rows: Rows, folder: Folder) -> bool:
    """True if `step` counts optimiser updates, not the readings of another clock."""
    return not len(rows) or not scope.parts(folder.words.words[int(rows.scope[0])])[2]


def _taken_over(rows: Rows) -> dict[int, int]:
    """Attempt -> its first reading of another clock. (`run.json` counts in optimiser steps.)"""
    return {int(attempt): int(rows.step[rows.attempt == attempt].min()) for attempt in np.unique(rows.attempt)[1:]}


def _in_scope(rows: Rows, folder: Folder, env: str | None, split: str | None) -> Rows:
    """Rows of one environment and split, if given, else rows of the run as a whole.

    If there are no rows of the whole, those of the environments are merged. Rows that count another
    clock never mix with rows that count optimiser steps.
    """
    if (rows.scope == 0).all():
        return rows if env is None and split in (None, "train") else rows.take(np.empty(0, np.int64))
    scopes = {code: scope.parts(folder.words.words[code]) for code in np.unique(rows.scope).tolist()}
    wanted = (env, split, None)
    for part in (2, 1, 0):  # clock, then split, then environment
        choice = _choice(wanted[part], part, {words[part] for words in scopes.values()})
        scopes = {code: words for code, words in scopes.items() if choice is None or words[part] == choice}
    return rows.only(np.isin(rows.scope, list(scopes)))


def _choice(wanted: str | None, part: int, known: set[str]) -> str | None:
    """The environment, split or clock to keep; None keeps all environments."""
    usual = "train" if part == 1 else ""
    if wanted is not None or usual in known:
        return usual if wanted is None else wanted
    return min(known, default="") if part else None


def within(series: Points, steps: Any) -> Points:
    """The points of some steps: a `(first, last)` pair, a range, a slice, or a list of steps."""
    if steps is None:
        return series
    if isinstance(steps, slice) or (isinstance(steps, tuple) and len(steps) == 2):
        lo, hi = (steps.start, None if steps.stop is None else steps.stop - 1) if isinstance(steps, slice) else steps
        keep = (series.step >= (LOWEST if lo is None else lo)) & (series.step <= (HIGHEST if hi is None else hi))
    else:
        keep = np.isin(series.step, _integers(steps))
    return series.take(np.flatnonzero(keep))


def scaled(series: Points, scale: float) -> Points:
    """The series in another unit: every value times `scale`, which may be negative."""
    if scale == 1:
        return series
    low, high = (series.low, series.high) if scale > 0 else (series.high, series.low)
    return Points(series.step, series.time_ns, series.value * scale, series.weight, low * scale, high * scale)


def _integers(steps: Any) -> Ints:
    try:
        return np.asarray(steps, np.int64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"steps must be a (first, last) pair, a range, a slice, or steps, not {steps!r}.") from error


def none() -> Points:
    i, f = np.empty(0, np.int64), np.empty(0)
    return Points(i, i, f, f, f, f)


def on_clock(step: Ints, time_ns: Ints, x: str, clocks: dict[str, NDArray[Any]], started_ns: int) -> Floats:
    """The readings of a clock at some points. A step without a reading is interpolated."""
    if x == "step":
        return step.astype(np.float64)
    if x == "time":
        return time_ns.astype(np.float64)
    if x == "relative":
        return (time_ns - started_ns) / 1e9
    if x not in CLOCKS:
        raise BadInput(f"no clock {x!r}: x must be one of {', '.join(CLOCKS)}.{nearest(x, CLOCKS)}")
    reading = np.asarray(clocks[x], np.float64)
    known = np.isfinite(reading)
    if not known.any():
        raise BadInput(
            f"this run has no readings of the clock {x!r}: nothing was recorded under it in the steps table."
            " Ask for x='step' or x='time'."
        )
    return np.interp(step, clocks["step"][known], reading[known])


def owned(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Columns that a caller may change: the points themselves are kept for the next question."""
    return {name: column.copy() for name, column in columns.items()}


def exact(series: Points) -> dict[str, NDArray[Any]]:
    """All points as columns; integers also exactly."""
    columns: dict[str, NDArray[Any]] = {
        "step": series.step,
        "time_ns": series.time_ns,
        "value": series.value,
        "weight": series.weight,
        "min": series.low,
        "max": series.high,
    }
    return owned(columns if series.exact is None else {**columns, "exact": series.exact})


def bucketed(series: Points, x: Floats, count: int) -> dict[str, NDArray[Any]]:
    """At most `count` buckets of equal width over the series, without empty ones."""
    summaries = buckets.Summaries.of(series)
    if len(x) > count:
        edges = buckets.grid(float(np.nanmin(x)), float(np.nanmax(x)), count)
        _, x, summaries = buckets.sparse(summaries, x, edges)
    return owned({"x": x, **summaries.columns()})
