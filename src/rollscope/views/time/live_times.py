"""Time metrics of a run that grows: only steps with new spans or samples are computed again."""

from __future__ import annotations

import numpy as np

from rollscope.store.numbers.step_marks import NONE, StepMarks
from rollscope.store.run import Run
from rollscope.views.steps import Series

from .times import times

COLUMNS = ("step", "value", "weight")
SAMPLE, RESUME = 1 << 20, 1_000_003 << 20  # in a mark, beside spans


class LiveTimes:
    """The time metrics of one reader's run, kept as long as the reader lives."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._marks = NONE
        self._series: dict[str, Series] = {}

    def series(self) -> dict[str, Series]:
        """All time metrics, as the run is now."""
        marks = self._count()
        changed = marks.changed_since(self._marks)
        if marks.gone_since(self._marks):  # an attempt was abandoned, or files are gone
            self._series, changed = {}, marks.steps.tolist()
        if len(changed) > len(marks) // 2:
            self._series = times(self._run)
        elif changed:
            before = {step - 1 for step in changed}
            next_steps = np.array(changed, np.int64) + 1
            after = next_steps[marks.has(next_steps)].tolist()
            self._replace(times(self._run, sorted({*changed, *before, *after})), changed)
        self._marks = marks
        return self._series

    def _count(self) -> StepMarks:
        """A mark per step that changes with its spans, its samples, or a resume.

        Seconds per token need the samples. A resume changes every step, because the steps of an
        older attempt count only until the next attempt reaches them.
        """
        spans, samples = self._run.count_by_step("spans"), self._run.count_by_step("samples")
        more = RESUME * self._run.resumes
        return StepMarks.of({step: count + SAMPLE * samples[step] + more for step, count in spans.items()})

    def _replace(self, fresh: dict[str, Series], changed: list[int]) -> None:
        """Replace the changed steps, and the step after each, which begins where it ends."""
        moved = np.array(sorted({*changed, *(step + 1 for step in changed)}), np.int64)
        for name in self._series.keys() | fresh.keys():
            parts: list[Series] = []
            if name in self._series:
                parts.append(_rows(self._series[name], ~np.isin(self._series[name]["step"], moved)))
            if name in fresh:
                parts.append(_rows(fresh[name], np.isin(fresh[name]["step"], moved)))
            joined = {column: np.concatenate([part[column] for part in parts]) for column in COLUMNS}
            self._series[name] = _rows(joined, np.argsort(joined["step"], kind="stable"))


def _rows(series: Series, rows: np.ndarray) -> Series:
    return {column: values[rows] for column, values in series.items()}
