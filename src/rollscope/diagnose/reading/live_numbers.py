"""Numbers made from the samples of a run that grows: only steps with new samples are read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from rollscope.diagnose.aggregates import AGGREGATES, Chunk, compute
from rollscope.diagnose.curves.series import Series
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

    def __init__(self, run: Run, text: bool, choose: Callable[[Sequence[int]], Sequence[int]]) -> None:
        self._run, self._is_text, self._choose = run, text, choose
        self._version = -1
        self._marks = NONE
        self._numbers: dict[str, Series] = {}

    def refresh(self) -> None:
        if self._version == self._run.version:
            return
        version, resumes = self._run.version, self._run.resumes
        counts = self._run.count_by_step("samples")
        chosen = self._choose(sorted(counts))
        marks = StepMarks.of({step: counts[step] + RESUMED * resumes for step in chosen})
        changed = marks.changed_since(self._marks)
        gone = [] if self._is_text else marks.gone_since(self._marks)
        rows = self._read(None if len(changed) == len(counts) else changed) if changed else None
        self._drop([*changed, *gone])
        if rows is not None:
            self._add(Chunk(rows))
        self._version, self._marks = version, marks  # what could not be read is read next time

    def _read(self, steps: list[int] | None) -> pa.Table:
        """Samples of some steps; without steps all, which needs no search."""
        columns = [*ALWAYS, *NARROW]
        if steps is None:
            rows = self._run.samples(columns=columns, as_arrow=True)
        else:
            rows = self._run.samples_of_steps(columns, steps)
        if not self._is_text:
            return rows
        ids = [id for some in _first_ids(rows, MOST_SAMPLES) for id in some]
        return self._run.samples(ids=ids, columns=[*ALWAYS, *NARROW, *WIDE], as_arrow=True)

    def _drop(self, steps: list[int]) -> None:
        for name, series in self._numbers.items():
            kept = ~np.isin(series.step, steps)
            self._numbers[name] = Series(series.step[kept], series.value[kept], name)

    def _add(self, chunk: Chunk) -> None:
        for name, values in compute(chunk, self._is_text).items():
            known, before = np.isfinite(values), self._numbers.get(name)
            step, value = chunk.steps[known], values[known]
            if before is not None:
                step, value = np.concatenate([before.step, step]), np.concatenate([before.value, value])
            order = np.argsort(step, kind="stable")
            self._numbers[name] = Series(step[order], value[order], name)

    def series(self, name: str) -> Series | None:
        series = self._numbers.get(name)
        return series if series is not None and len(series) else None


def spread_steps(steps: Sequence[int]) -> list[int]:
    """At most about MOST_STEPS of all steps: every n-th, n a power of two, and the last ten.

    A step that was chosen stays chosen until the run has twice as many, so little is read again.
    """
    stride = 1
    while len(steps) > stride * MOST_STEPS:
        stride *= 2
    return sorted({*steps[::stride], *steps[:10], *steps[-10:]})


def _first_ids(rows: pa.Table, most: int) -> list[list[str]]:
    chunk = Chunk(rows)
    ids = chunk.rows["id"].to_pylist()
    return [ids[start : start + min(most, count)] for start, count in zip(chunk.starts, chunk.counts, strict=True)]
