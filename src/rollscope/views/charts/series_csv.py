"""Series as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rollscope.store.run import Run
from rollscope.visible import csv_cell

COLUMNS = ("step", "time_ns", "value", "weight")


def series_csv(run: Run, names: Sequence[str]) -> str:
    """Every merged value of some series, in the unit of its name.

    NaN and infinities are written as they were logged.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", *COLUMNS])
    for name in names:
        found = run.find(name)
        columns = run.series_of(found)
        for step, time_ns, value, weight in zip(*(columns[column].tolist() for column in COLUMNS), strict=True):
            value_text = "no data" if weight == 0 else repr(value)
            writer.writerow([csv_cell(name), step, time_ns, value_text, "" if weight != weight else repr(weight)])
    return text.getvalue()
