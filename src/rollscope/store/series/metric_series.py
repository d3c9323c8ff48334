"""A metric of a run: every merged point, or buckets of them, over any clock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput, UnknownMetric, nearest
from rollscope.store.folder import Folder
from rollscope.store.live import scope
from rollscope.store.numbers import buckets, counters
from rollscope.store.numbers.merge import Points, merge
from rollscope.store.numbers.rows import Floats, Ints, Rows

CLOCKS = ("step", "time", "relative", "tokens", "samples", "env_steps", "explore_step", "epoch", "policy_version")


def points(
    folder: Folder,
    name: str,
    *,
    rank: int | None = None,
    attempt: int | None = None,
    env: str | None = None,
    split: str | None = None,
    last: bool = False,
) -> Points:
    """One value per step. With a rank: that rank's alone; with an attempt: what that attempt wrote, also where a later one took over.

    With `last` only files that reach the last step are read, and of them the last steps are right.
    """
    if name not in folder.locations():
        known = folder.names()
        raise UnknownMetric(
            f"no metric {name!r} in {folder.path}, which has {len(known)}.{nearest(name, known)} List them all: rollscope show RUN"
        )
    rows = folder.rows(name, last)
    rows = _placed(rows, folder, env, split)
    resumed = {} if attempt is not None else folder.resumed if _counts_updates(rows, folder) else _taken_over(rows)
    if rank is not None:
        rows = rows.only(rows.rank == rank)
    if attempt is not None:
        rows = rows.only(rows.attempt == attempt)
    found = merge(rows, folder.words, resumed, folder.partials)
    return counters.running(found) if (rows.kind == folder.words.code(counters.KIND)).all() else found


def _counts_updates(rows: Rows, folder: Folder) -> bool:
    """Are these the optimiser's steps, or the readings of another clock?"""
    return not len(rows) or not scope.parts(folder.words.words[int(rows.scope[0])])[2]


def _taken_over(rows: Rows) -> dict[int, int]:
    """Attempt -> its first reading: where a run was resumed is said in the optimiser's steps, which another clock cannot be held against."""
    return {int(attempt): int(rows.step[rows.attempt == attempt].min()) for attempt in np.unique(rows.attempt)[1:]}


def _placed(rows: Rows, folder: Folder, env: str | None, split: str | None) -> Rows:
    """Rows of one environment and split, if asked for, else of the whole; only where nothing is said of the whole are the parts put together.

    Rows that count another clock never mix with those of the optimiser's.
    """
    if (rows.scope == 0).all():
        return rows if env is None and split in (None, "train") else rows.take(np.empty(0, np.int64))
    words = {code: scope.parts(folder.words.words[code]) for code in np.unique(rows.scope).tolist()}
    wanted = (env, split, None)
    for part in (2, 1, 0):  # clock, then split, then environment
        ask, said = wanted[part], {word[part] for word in words.values()}
        plain = "train" if part == 1 else ""
        choice = ask if ask is not None else plain if plain in said else min(said, default="") if part else None
        words = {code: word for code, word in words.items() if choice is None or word[part] == choice}
    return rows.only(np.isin(rows.scope, list(words)))


def within(found: Points, steps: Any) -> Points:
    """The points of some steps: a `(first, last)` pair, a range, a slice, or the steps themselves."""
    if steps is None:
        return found
    if isinstance(steps, range):
        keep = np.isin(found.step, np.asarray(steps))
    elif isinstance(steps, slice) or (isinstance(steps, tuple) and len(steps) == 2):
        lo, hi = (steps.start, None if steps.stop is None else steps.stop - 1) if isinstance(steps, slice) else steps
        keep = (found.step >= (-(2**63) if lo is None else lo)) & (found.step <= (2**63 - 1 if hi is None else hi))
    else:
        keep = np.isin(found.step, _listed(steps))
    return found.take(np.flatnonzero(keep))


def _listed(steps: Any) -> Ints:
    try:
        return np.asarray(steps, np.int64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"steps must be a (first, last) pair, a range, a slice, or steps, not {steps!r}.") from error


def none() -> Points:
    i, f = np.empty(0, np.int64), np.empty(0)
    return Points(i, i, f, f, f, f)


def on_clock(step: Ints, time_ns: Ints, x: str, clocks: dict[str, NDArray[Any]], started_ns: int) -> Floats:
    """Where points lie on a clock; steps whose reading is not known are placed between their neighbours."""
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
            f"this run has no readings of the clock {x!r}: nothing was recorded under it in the steps table. Ask for x='step' or x='time'."
        )
    return np.interp(step, clocks["step"][known], reading[known])


def exact(found: Points) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {
        "step": found.step,
        "time_ns": found.time_ns,
        "value": found.value,
        "weight": found.weight,
        "min": found.low,
        "max": found.high,
    }
    return columns if found.exact is None else {**columns, "exact": found.exact}


def bucketed(found: Points, x: Floats, count: int) -> dict[str, NDArray[Any]]:
    """At most `count` buckets of equal width over what is there, empty ones left out."""
    blocks = buckets.Summaries.of(found)
    if len(x) > count:
        _, x, blocks = buckets.sparse(blocks, x, buckets.grid(float(np.nanmin(x)), float(np.nanmax(x)), count))
    return {"x": x, **blocks.columns()}
