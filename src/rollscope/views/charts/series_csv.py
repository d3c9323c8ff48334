"""Series as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from rollscope.store.run import Run
from rollscope.visible import csv_cell

COLUMNS = ("step", "time_ns", "value", "weight")
RUNS_HEAD = "run,name,step,time_ns,value,weight\n"


def series_csv(run: Run, names: Sequence[str]) -> str:
    """Every merged value of some series, in the unit of its name.

    NaN and infinities are written as they were logged.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", *COLUMNS])
    for name in names:
        for row in _rows(run, name):
            writer.writerow([csv_cell(name), *row])
    return text.getvalue()


def run_lines(run: Run, id: str, name: str, first: int | None, last: int | None) -> str:
    """The lines of one series of one run, between two steps, below `RUNS_HEAD`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in _rows(run, name):
        if (first is None or row[0] >= first) and (last is None or row[0] <= last):
            writer.writerow([csv_cell(id), csv_cell(name), *row])
    return text.getvalue()


def _rows(run: Run, name: str) -> Iterator[tuple[int, int, str, str]]:
    """Step, time, value and weight as texts that read back as the same numbers."""
    columns = run.series_of(run.find(name))
    for step, time_ns, value, weight in zip(*(columns[column].tolist() for column in COLUMNS), strict=True):
        value_text = "no data" if weight == 0 else repr(value)
        yield step, time_ns, value_text, "" if weight != weight else repr(weight)
