"""The history of every prompt over a run: when it was tried, how well that went, and whether it was solved, forgotten or never solved.

A prompt passes at a step when one of its answers reaches the top of the declared reward range, else the highest reward of the run. Solved: it passed
when it was last tried. Forgotten: it passed before, and not then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store.numbers.rollup import Bounds
from rollscope.store.numbers.rows import stretch_starts
from rollscope.store.numbers.statistic import SAME

COLUMNS = ("id", "step", "task", "env", "split", "reward")


def prompts(run: Any) -> dict[str, Any]:
    """One entry per task: tries, first and last step, mean reward at each, share of tries that passed at the last, and its status."""
    rows = history(run)
    if not len(rows["task"]):
        return {
            name: np.empty(0)
            for name in (
                "task",
                "tries",
                "steps",
                "first_step",
                "last_step",
                "first_reward",
                "last_reward",
                "best_reward",
                "status",
            )
        }
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


def prompt(run: Any, task: str) -> dict[str, Any]:
    """One prompt, step by step: how often it was tried, the mean and best reward, and the share of answers that passed."""
    rows = history(run)
    at = rows["task"] == (rows["names"].index(task) if task in rows["names"] else -1)
    return {
        "step": rows["step"][at],
        "tries": rows["n"][at],
        "mean": rows["mean"][at],
        "best": rows["best"][at],
        "passed": rows["passed"][at],
    }


def history(run: Any) -> dict[str, Any]:
    """One entry per task and step, by task: `task` is a place in `names`; step, n, mean, passed (share) and best. Kept until the run grows."""
    found: dict[str, Any] = run.remember("prompt history", lambda: _history(run))
    return found


def _history(run: Any) -> dict[str, Any]:
    found = run.samples(columns=COLUMNS, as_arrow=True)
    keep = pc.and_(
        pc.and_(found["step"].is_valid(), found["reward"].is_valid()),
        pc.fill_null(pc.not_equal(found["split"], "eval"), True),
    )
    found = found.filter(pc.and_(keep, found["task"].is_valid()))
    task = found["task"].combine_chunks().dictionary_encode()
    env = pc.fill_null(found["env"], "").combine_chunks().dictionary_encode()
    reward, step, code = (
        found["reward"].to_numpy(),
        found["step"].to_numpy(),
        task.indices.to_numpy(zero_copy_only=False).astype(np.int64),
    )
    _, top = Bounds(run.declared).of(
        "reward", env.dictionary.to_pylist(), env.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    )
    highest = float(np.nanmax(reward)) if len(reward) else 0.0
    top = np.where(np.isnan(top), highest, top)
    passed = (reward >= top - SAME * np.maximum(np.abs(top), 1.0)).astype(np.float64)
    order = np.lexsort((step, code))
    starts = stretch_starts(code[order], step[order])
    n = np.diff([*starts, len(order)])
    sums = [np.add.reduceat(x[order], starts) / n if len(starts) else np.empty(0) for x in (reward, passed)]
    best = np.maximum.reduceat(reward[order], starts) if len(starts) else np.empty(0)
    names: list[str] = task.dictionary.to_pylist() if isinstance(task, pa.DictionaryArray) else []
    return {
        "task": code[order][starts],
        "step": step[order][starts],
        "n": n,
        "mean": sums[0],
        "passed": sums[1],
        "best": best,
        "names": names,
    }
