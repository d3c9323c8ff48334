"""The steps and times of samples and spans: those of a run that logged no number."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rollscope.store import arrow
from rollscope.store.live.tail import Tail
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed.reader import SealedSet

TABLES = ("samples", "spans")  # whose rows have a step
File = SealedSet | Tail


def last_step(files: Iterable[File]) -> int:
    """The last step of a sample or a span; -1 if none has a step."""
    marks = [file.steps_of(table) for file in files for table in TABLES]
    return max((int(one.steps[-1]) for one in marks if len(one)), default=-1)


def time_range(files: Iterable[File]) -> tuple[int | None, int | None]:
    """The times of the first and the last sample."""
    times = [found for file in files for found in _times(file) if len(found)]
    return min((int(one.min()) for one in times), default=None), max((int(one.max()) for one in times), default=None)


def _times(file: File) -> list[Ints]:
    if isinstance(file, SealedSet):
        sealed = file.files.get("samples.parquet")
        tables = [] if sealed is None else [sealed.read(["time_ns"])]
    else:
        tables = file.tables("samples")
    columns = [table["time_ns"].drop_null() for table in tables if "time_ns" in table.column_names]
    return [np.asarray(arrow.filled(column, 0), np.int64) for column in columns]
