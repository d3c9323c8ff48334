"""Time metrics of a run that grows: only steps with new spans or samples are computed again."""

from __future__ import annotations

import numpy as np

from rollscope.store.live.growing import STEP, Piece, StepColumns
from rollscope.store.numbers.rows import Ints
from rollscope.store.numbers.step_marks import NONE, StepMarks
from rollscope.store.run import Run
from rollscope.views.steps import Series

from .times import times

MARK, HERE, VALUE, WEIGHT = "mark", "here", "value", "weight"  # columns, the last three of each metric
SAMPLE, RESUME = 1 << 20, 1_000_003 << 20  # in a mark, beside spans


class LiveTimes:
    """The time metrics of one reader's run, kept as long as the reader lives."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._columns = StepColumns()

    def series(self) -> dict[str, Series]:
        """All time metrics, as the run is now."""
        marks, before = self._count(), self._marks()
        changed = np.array(marks.changed_since(before), np.int64)
        if marks.gone_since(before):  # an attempt was abandoned, or files are gone
            changed = marks.steps
        if len(changed) > len(marks) // 2:
            fresh = times(self._run)
            self._columns = StepColumns()
            self._put(fresh, _union([marks.steps, *(series["step"] for series in fresh.values())]), marks)
        elif len(changed):
            after = (changed + 1)[marks.has(changed + 1)]
            fresh = times(self._run, _union([changed, changed - 1, after]).tolist())
            self._put(fresh, _union([changed, changed + 1]), marks)  # the step after each begins where it ends
        return self._all()

    def _count(self) -> StepMarks:
        """A mark per step that changes with its spans, its samples, or a resume.

        Seconds per token need the samples. A resume changes every step, because the steps of an
        older attempt count only until the next attempt reaches them.
        """
        spans, samples = self._run.count_by_step("spans"), self._run.count_by_step("samples")
        more = RESUME * self._run.resumes
        return StepMarks(spans.steps, spans.marks + SAMPLE * samples.at(spans.steps) + more)

    def _marks(self) -> StepMarks:
        """Those of the steps that are kept; a step without spans has none."""
        steps = self._columns.steps()
        marks = self._columns.column(MARK) if len(steps) else steps
        return StepMarks(steps[marks > 0], marks[marks > 0]) if len(steps) else NONE

    def _put(self, fresh: dict[str, Series], steps: Ints, marks: StepMarks) -> None:
        """Keep the times of some steps in place of what was known of them."""
        columns: Piece = {STEP: steps, MARK: marks.at(steps)}
        known = columns[MARK] > 0
        for name, series in fresh.items():
            mine = np.isin(series["step"], steps)
            at = np.searchsorted(steps, series["step"][mine])
            columns[name, HERE] = np.zeros(len(steps), bool)
            columns[name, HERE][at] = known[at] = True
            for what in (VALUE, WEIGHT):
                columns[name, what] = np.full(len(steps), np.nan)
                columns[name, what][at] = series[what][mine]
        self._columns.drop(steps)
        self._columns.put({name: column[known] for name, column in columns.items()})

    def _all(self) -> dict[str, Series]:
        names = sorted(key[0] for key in self._columns.names() if isinstance(key, tuple) and key[1] == HERE)
        steps = self._columns.steps()
        found = {name: self._one(name, steps) for name in names}
        return {name: series for name, series in found.items() if len(series["step"])}

    def _one(self, name: str, steps: Ints) -> Series:
        here = self._columns.column((name, HERE))
        value, weight = (self._columns.column((name, what)) for what in (VALUE, WEIGHT))
        if here.all():
            return {"step": steps, "value": value, "weight": weight}  # the same steps, which callers see
        return {"step": steps[here], "value": value[here], "weight": weight[here]}


def _union(parts: list[Ints]) -> Ints:
    """All steps, ascending, once each."""
    return np.unique(np.concatenate(parts))
