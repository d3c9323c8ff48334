"""Numbers made from the samples of a run that grows: only steps with new samples are read again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from rollscope.diagnose.aggregates import AGGREGATES, Chunk, compute
from rollscope.diagnose.curves.series import Series
from rollscope.store.live.growing import STEP, Piece, StepColumns
from rollscope.store.numbers.rows import Ints
from rollscope.store.numbers.step_marks import NONE, StepMarks
from rollscope.store.run import Run

ALWAYS = ("id", "step", "split", "group", "task")
NARROW = (  # read where they are there; a number names those without which it cannot be made
    *("reward", "score", "rewards", "trained", "discard_reason", "error", "stop_reason", "completion_tokens"),
    "advantage",
    *("tool_calls", "tool_failures", "generate_seconds", "tool_seconds", "reward_seconds"),
)
WIDE = ("completion", "rollout_logp", "old_logp")  # of few samples of some steps
RESUMED = 1_000_003  # a run that was resumed may have other samples at a step
MARK = "mark"  # a column beside the numbers
MOST_STEPS = 64  # steps whose text is read
MOST_SAMPLES = 24  # samples of a step whose text is read


class LiveNumbers:
    """The numbers of one reader's run, kept as long as the reader lives."""

    def __init__(self, run: Run) -> None:
        self._narrow = _Kept(run, text=False, choose=lambda steps: steps)
        self._text = _Kept(run, text=True, choose=spread_steps)

    def series(self, name: str) -> Series | None:
        """A number over steps; None if no step has it."""
        kept = self._text if AGGREGATES[name].text else self._narrow
        kept.refresh()
        return kept.series(name)


class _Kept:
    """Numbers by step, of the steps that `choose` picks."""

    def __init__(self, run: Run, text: bool, choose: Callable[[Ints], Ints]) -> None:
        self._run, self._is_text, self._choose = run, text, choose
        self._version = -1
        self._columns = StepColumns()  # the mark of each step, and its numbers

    def refresh(self) -> None:
        if self._version == self._run.version:
            return
        version, resumes = self._run.version, self._run.resumes
        counts = self._run.count_by_step("samples")
        chosen = self._choose(counts.steps)
        marks, before = StepMarks(chosen, counts.at(chosen) + RESUMED * resumes), self._marks()
        changed = marks.changed_since(before)
        rows = self._read(None if len(changed) == len(counts) else changed) if changed else None
        if not self._is_text:
            self._columns.drop(np.array(marks.gone_since(before), np.int64))
        if rows is not None:
            self._put(np.array(changed, np.int64), marks, Chunk(rows))
        self._version = version  # what could not be read is read next time

    def _marks(self) -> StepMarks:
        steps = self._columns.steps()
        return StepMarks(steps, self._columns.column(MARK)) if len(steps) else NONE

    def _read(self, steps: list[int] | None) -> pa.Table:
        """Samples of some steps; without steps all, which needs no search."""
        columns = ["id", "step", "split"] if self._is_text else [*ALWAYS, *NARROW]
        if steps is None:
            rows = self._run.samples(columns=columns, as_arrow=True)
        else:
            rows = self._run.samples_of_steps(columns, steps)
        if not self._is_text:
            return rows
        ids = [id for some in _first_ids(rows, MOST_SAMPLES) for id in some]
        return self._run.samples(ids=ids, columns=[*ALWAYS, *NARROW, *WIDE], as_arrow=True)

    def _put(self, steps: Ints, marks: StepMarks, chunk: Chunk) -> None:
        """Keep the numbers of steps that were read; a step whose samples do not count has none."""
        columns: Piece = {STEP: steps, MARK: marks.at(steps)}
        mine = np.isin(chunk.steps, steps)
        at = np.searchsorted(steps, chunk.steps[mine])
        for name, values in compute(chunk, self._is_text).items():
            columns[name] = np.full(len(steps), np.nan)
            columns[name][at] = values[mine]
        self._columns.put(columns)

    def series(self, name: str) -> Series | None:
        if name not in self._columns.names():
            return None
        values = self._columns.column(name)
        known = np.isfinite(values)
        return Series(self._columns.steps()[known], values[known], name) if known.any() else None


def spread_steps(steps: Ints) -> Ints:
    """At most about MOST_STEPS of all steps: every n-th, n a power of two, and the last ten.

    A step that was chosen stays chosen until the run has twice as many, so little is read again.
    """
    stride = 1
    while len(steps) > stride * MOST_STEPS:
        stride *= 2
    return np.unique(np.concatenate([steps[::stride], steps[:10], steps[-10:]]))


def _first_ids(rows: pa.Table, most: int) -> list[list[str]]:
    chunk = Chunk(rows)
    ids = chunk.rows["id"].to_pylist()
    return [ids[start : start + min(most, count)] for start, count in zip(chunk.starts, chunk.counts, strict=True)]
