"""The history of every prompt over a run: when it was tried, how well, and whether it is solved.

A prompt passes at a step if one of its answers reaches the top of the declared reward range, or
else the highest reward of the run. Solved: it passed when last tried. Forgotten: it passed before,
but not then. Never: it did not pass at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.numbers.rollup import Bounds
from rollscope.store.numbers.rows import stretch_starts
from rollscope.store.numbers.statistic import SAME
from rollscope.store.run import Run

COLUMNS = ("id", "step", "task", "env", "split", "reward")
PROMPT_COLUMNS = (
    *("task", "tries", "steps", "first_step", "last_step"),
    *("first_reward", "last_reward", "best_reward", "status"),
)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def prompts(run: Run) -> dict[str, Any]:
    """One entry per task, as columns: tries, first and last step, rewards, status."""
    rows = history(run)
    if not len(rows["task"]):
        return {name: np.empty(0) for name in PROMPT_COLUMNS}
    starts = stretch_starts(rows["task"])
    ends = np.append(starts[1:], len(rows["task"])) - 1
    ever, last = np.maximum.reduceat(rows["passed"], starts) > 0, rows["passed"][ends] > 0
    return {
        "task": np.array(rows["names"], object)[rows["task"][starts]],
        "tries": np.add.reduceat(rows["n"], starts),
        "steps": ends - starts + 1,
        "first_step": rows["step"][starts],
        "last_step": rows["step"][ends],
        "first_reward": rows["mean"][starts],
        "last_reward": rows["mean"][ends],
        "best_reward": np.maximum.reduceat(rows["best"], starts),
        "status": np.where(last, "solved", np.where(ever, "forgotten", "never")).astype(object),
    }


def prompt(run: Run, task: str) -> dict[str, Any]:
    """One prompt by step: its tries, mean and best reward, and the share of answers that passed."""
    rows = history(run)
    at = rows["task"] == (rows["names"].index(task) if task in rows["names"] else -1)
    return {
        "step": rows["step"][at],
        "tries": rows["n"][at],
        "mean": rows["mean"][at],
        "best": rows["best"][at],
        "passed": rows["passed"][at],
    }


def history(run: Run) -> dict[str, Any]:
    """One entry per task and step, by task, as columns; kept until the run grows.

    `task` is an index into `names`; `passed` is the share of answers that passed.
    """
    return run.remember("prompt history", lambda: _history(run))


def _history(run: Run) -> dict[str, Any]:
    rows = _training_rows(run)
    task = rows["task"].combine_chunks().dictionary_encode()
    code = task.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    reward, step = rows["reward"].to_numpy(), rows["step"].to_numpy()
    passed = _passed(rows, reward, run.declared)
    order = np.lexsort((step, code))
    starts = stretch_starts(code[order], step[order])
    n = np.diff([*starts, len(order)])
    names: list[str] = task.dictionary.to_pylist() if isinstance(task, pa.DictionaryArray) else []
    return {
        "task": code[order][starts],
        "step": step[order][starts],
        "n": n,
        "mean": _reduced(np.add, reward[order], starts) / n,
        "passed": _reduced(np.add, passed[order], starts) / n,
        "best": _reduced(np.maximum, reward[order], starts),
        "names": names,
    }


def _training_rows(run: Run) -> pa.Table:
    """Samples with a step, a task and a reward that are not of an evaluation."""
    rows = run.samples(columns=COLUMNS, as_arrow=True)
    keep = pc.fill_null(pc.not_equal(rows["split"], "eval"), True)
    for name in ("step", "reward", "task"):
        keep = pc.and_(keep, rows[name].is_valid())
    return rows.filter(keep)


def _passed(rows: pa.Table, reward: Floats, declared: dict[str, Any]) -> Floats:
    """1 for each sample whose reward reaches the top, else 0."""
    env = pc.fill_null(rows["env"], "").combine_chunks().dictionary_encode()
    codes = env.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    _, top = Bounds(declared).of("reward", env.dictionary.to_pylist(), codes)
    highest = float(np.nanmax(reward)) if len(reward) else 0.0
    top = np.where(np.isnan(top), highest, top)
    return (reward >= top - SAME * np.maximum(np.abs(top), 1.0)).astype(np.float64)


def _reduced(function: np.ufunc, values: Floats, starts: Ints) -> Floats:
    return np.asarray(function.reduceat(values, starts), np.float64) if len(starts) else np.empty(0)
