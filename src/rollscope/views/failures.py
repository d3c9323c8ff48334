"""Failures of environment and grader: by cause, by time, by task and by worker.

A sample failed if it has an error, or a stop reason that says that the machine ended it. Failures
that bunch in time across tasks are the machine's; those that bunch in few tasks are the tasks'.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store.run import Run

STOPS = ("error", "aborted", "cancelled", "canceled", "timeout", "env_error", "sandbox_error")
CALLED_OFF = ("aborted", "cancelled", "canceled")
COLUMNS = (
    *("id", "step", "split", "task", "group", "writer", "error", "stop_reason", "reward", "trained"),
    *("discard_reason", "completion_tokens", "advantage"),
)
MOST_CAUSES = 12
SHOWN = 5
AROUND = 20  # steps before and after a stretch
_VARIABLE = re.compile(r"0x[0-9a-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{4,}\b|[0-9a-f]{8,}|\d+|'[^']*'|\"[^\"]*\"|/[\w./-]+")


@dataclass(frozen=True, slots=True)
class Failures:
    """The failed samples of a stretch of steps."""

    count: int
    total: int
    tokens: int
    trained_as_zero: int  # in the loss, with a reward of 0 or less
    masked: int  # not in the loss
    moved_baseline: int  # masked, but with a reward, in a group whose others were trained on
    causes: list[tuple[str, int]]  # errors with their numbers and paths taken out, the most frequent first
    steps: dict[int, tuple[int, int]]  # step -> failed, all
    tasks: list[tuple[str, int, int]]  # task, failed, all: the ten that fail most
    workers: list[tuple[str, int, int]]  # writer, failed, all
    by_task: bool  # few tasks fail, and do so nearly always
    by_time: bool  # some steps fail, across tasks
    samples: tuple[str, ...]

    @property
    def where(self) -> str:
        """One sentence: where the failures bunch."""
        if self.by_task:
            return f"They bunch in {len([t for t in self.tasks if t[1]])} tasks, not in time."
        if self.by_time:
            return "They bunch in time, across tasks: look at the machine, not at the prompts."
        return "They are spread over time and tasks."


def failures(run: Run, first: int | None = None, last: int | None = None, called_off: bool = True) -> Failures:
    """The failures of the steps from `first` to `last`, or of the whole run.

    Without `called_off`, what was called off and not trained on is no failure.
    """
    steps = run.count_by_step("samples").steps
    low, high = (first if first is not None else -1), (last if last is not None else 2**62)
    near = steps[(steps >= low - AROUND) & (steps <= high + AROUND)]
    rows = run.samples_of_steps(COLUMNS, near.tolist())
    rows = rows.filter(pc.fill_null(pc.not_equal(rows["split"], "eval"), True))
    around = _by_step(rows, _failed(rows, called_off))  # steps before and after show whether failures bunch in time
    step = np.asarray(rows["step"])
    rows = rows.filter(pa.array((step >= low) & (step <= high)))
    return _counted(rows, _failed(rows, called_off), _in_time(around))


def _failed(rows: pa.Table, called_off: bool) -> np.ndarray:
    error = pc.fill_null(pc.not_equal(rows["error"], ""), False)
    stopped = pc.is_in(pc.utf8_lower(rows["stop_reason"]), value_set=pa.array(STOPS))
    if not called_off:
        off = pc.is_in(pc.utf8_lower(rows["stop_reason"]), value_set=pa.array(CALLED_OFF))
        stopped = pc.and_not(stopped, pc.and_not(off, pc.fill_null(rows["trained"], False)))
    return np.asarray(pc.or_(error, pc.fill_null(stopped, False)), bool)


def _counted(rows: pa.Table, failed: np.ndarray, in_time: bool) -> Failures:
    bad = rows.filter(pa.array(failed))
    trained = np.asarray(pc.fill_null(bad["trained"], False), bool)
    reward = np.asarray(pc.fill_null(bad["reward"].cast(pa.float64()), np.nan))
    tasks, workers = (_by(rows[name], failed) for name in ("task", "writer"))
    by_task = _bunched([(f, n) for _, f, n in tasks], len(bad))
    masked = ~trained & np.asarray(pc.fill_null(pc.not_equal(bad["discard_reason"], ""), False), bool)
    return Failures(
        count=len(bad),
        total=len(rows),
        tokens=int(pc.sum(bad["completion_tokens"]).as_py() or 0),
        trained_as_zero=int((trained & ~(reward > 0) & np.isfinite(reward)).sum()),
        masked=int(masked.sum()),
        moved_baseline=_moved(rows, bad, masked & np.isfinite(reward)),
        causes=_causes(bad),
        steps=_by_step(rows, failed),
        tasks=tasks[:10],
        workers=workers,
        by_task=by_task,
        by_time=in_time and not by_task,
        samples=tuple(str(id) for id in bad["id"].to_pylist()[:SHOWN]),
    )


def _causes(bad: pa.Table) -> list[tuple[str, int]]:
    """Errors that differ only in numbers, paths and quoted words are one cause."""
    counts: Counter[str] = Counter()
    pairs = zip(bad["error"].to_pylist(), bad["stop_reason"].to_pylist(), strict=True)
    for (error, stop), count in Counter(pairs).items():
        counts[cause_of(str(error or stop or "unknown"))] += count
    return counts.most_common(MOST_CAUSES)


def cause_of(error: str) -> str:
    """An error without what changes from one to the next.

    >>> cause_of("Timeout after 31 s on '/tmp/x1' (0x7f3a)")
    'Timeout after … s on … (…)'
    """
    line = next((line for line in reversed(error.strip().splitlines()) if line.strip()), "")
    return _VARIABLE.sub("…", line.strip())[:200]


def _by(column: Any, failed: np.ndarray) -> list[tuple[str, int, int]]:
    """Value, failed and all samples of it, the most failures first."""
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    code, words = np.asarray(encoded.indices), encoded.dictionary.to_pylist()
    count = np.bincount(code, minlength=len(words))
    lost = np.bincount(code, failed, minlength=len(words)).astype(int)
    order = np.argsort(-lost, kind="stable").tolist()
    return [(str(words[i]), int(lost[i]), int(count[i])) for i in order if words[i]]


def _by_step(rows: pa.Table, failed: np.ndarray) -> dict[int, tuple[int, int]]:
    step = np.asarray(rows["step"])
    values, index = np.unique(step, return_inverse=True)
    lost, count = np.bincount(index, failed, len(values)), np.bincount(index, minlength=len(values))
    return {int(s): (int(f), int(n)) for s, f, n in zip(values, lost, count, strict=True)}


def _in_time(steps: dict[int, tuple[int, int]]) -> bool:
    """Are some steps free of failures while others have many?"""
    shares = np.array([failed / max(1, count) for failed, count in steps.values()])
    return len(shares) >= 4 and float((shares == 0).mean()) >= 0.25 and float(shares.max()) >= 0.2


def _bunched(parts: list[tuple[int, int]], count: int) -> bool:
    """Do most failures lie in few parts, which fail nearly always while others hardly do?"""
    if count < 3 or len(parts) < 3:
        return False
    worst = sorted(parts, key=lambda part: -part[0])[: max(1, len(parts) // 5)]
    inside, seen = sum(f for f, _ in worst), sum(n for _, n in worst)
    return inside >= 0.8 * count and inside >= 0.5 * seen


def _moved(rows: pa.Table, bad: pa.Table, masked: np.ndarray) -> int:
    """Masked samples with a reward whose group has samples in the loss: they move its baseline."""
    trained = rows.filter(pc.fill_null(rows["trained"], False))
    groups = pc.unique(trained["group"].drop_null())
    inside = np.asarray(pc.fill_null(pc.is_in(bad["group"], value_set=groups), False), bool)
    return int((masked & inside).sum())
