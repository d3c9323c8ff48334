"""The metrics of a run as a framework would log them: its names, its units, merged values."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pyarrow as pa

from rollscope.store.naming import Logged
from rollscope.store.run import Run
from rollscope.strict_json import plain
from rollscope.views.dictionary import in_dialect

NUMBERS = ("value", "weight", "min", "max")
SCHEMA = pa.schema(
    [("run", pa.string()), ("step", pa.int64()), ("time_ns", pa.int64()), ("name", pa.string())]
    + [(name, pa.float64()) for name in NUMBERS]
    + [("unit", pa.string()), ("recorded_as", pa.string())]
)


def spoken_rows(run: Run, dialect: str) -> tuple[int, Generator[Any]]:
    """How many rows there are, then their schema and a batch for each series.

    A series that the framework has no name for is left out. `recorded_as` is the name in the run.
    """
    metrics = run.metrics()
    counts = dict(zip(metrics["name"].tolist(), metrics["count"].tolist(), strict=True))
    series = in_dialect(run, list(counts), dialect)
    return sum(counts[one.stored] for one in series), _batches(run, series)


def _batches(run: Run, series: Sequence[Logged]) -> Generator[Any]:
    yield SCHEMA
    for one in series:
        columns = run.series_of(one)
        said = {"run": run.id, "name": one.asked, "unit": one.unit, "recorded_as": one.stored}
        cells = {key: pa.array([plain(text)] * len(columns["step"]), pa.string()) for key, text in said.items()}
        cells |= {key: pa.array(columns[key], SCHEMA.field(key).type) for key in ("step", "time_ns", *NUMBERS)}
        yield pa.record_batch([cells[name] for name in SCHEMA.names], schema=SCHEMA)
