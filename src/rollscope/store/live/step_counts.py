"""How many rows of a table each step has in a log that grows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.numbers.rows import stretch_starts
from rollscope.store.numbers.step_marks import NONE, StepMarks

from .growing import STEP, StepColumns

ROWS = "rows"


class StepCounts:
    def __init__(self) -> None:
        self._columns = StepColumns()

    def add(self, rows: pa.Table) -> None:
        """Count rows that are new."""
        new = _counted(rows)
        self._columns.put({STEP: new.steps, ROWS: new.marks + self.all().at(new.steps)})

    def all(self) -> StepMarks:
        steps = self._columns.steps()
        return StepMarks(steps, self._columns.column(ROWS)) if len(steps) else NONE


def _counted(rows: pa.Table) -> StepMarks:
    if "step" not in rows.column_names:
        return NONE
    steps = np.sort(arrow.filled(rows["step"], 0)[~arrow.missing(rows["step"])])
    starts = stretch_starts(steps)  # np.unique would import numpy.ma, which takes longer
    return StepMarks(steps[starts], np.diff([*starts, len(steps)]))
