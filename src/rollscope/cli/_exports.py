"""The formats of `rollscope export`: each a function from a run to files, with how many rows went into each."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.catalog import dialects
from rollscope.errors import BadInput, MissingExtra
from rollscope.store.plain import plain
from rollscope.store.schema import TABLES
from rollscope.views import chrome

FORMATS = ("parquet", "csv", "jsonl", "tensorboard", "chrome")
BATCH = 20_000
Tell = Callable[[int, int, str], None]


def write(run: Any, format: str, out: str, tables: Sequence[str] | None, dialect: str | None, tell: Tell) -> dict[str, int]:
    """Files that were written, and the rows in each."""
    if format == "chrome":
        return {out: chrome.write(run, out, lambda done, total: tell(done, total, "spans"))}
    os.makedirs(out, exist_ok=True)
    if format == "tensorboard":
        return tensorboard(run, out, dialect, tell)
    if dialect:
        raise BadInput(f"a dialect is for tensorboard; {format} keeps the names as they were recorded. Leave --dialect out.")
    return _tables(run, format, out, tables, tell)


def rows_of(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def _tables(run: Any, format: str, out: str, tables: Sequence[str] | None, tell: Tell) -> dict[str, int]:
    """Every table that has rows, or those that were named."""
    written: dict[str, int] = {}
    for name in tables or TABLES:
        tell(0, 1, name)
        rows = run.sql(f"select * from {name}", as_arrow=True, seconds=3600.0)
        if len(rows) or tables:
            path = os.path.join(out, f"{name}.{format}")
            _WRITERS[format](path, rows, name, tell)
            written[path] = len(rows)
    return written


def _parquet(path: str, rows: pa.Table, name: str, tell: Tell) -> None:
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        for start in range(0, len(rows), 5 * BATCH):
            writer.write_table(rows.slice(start, 5 * BATCH))
            tell(min(start + 5 * BATCH, len(rows)), len(rows), name)


def _csv(path: str, rows: pa.Table, name: str, tell: Tell) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows.column_names)
        for start in range(0, len(rows), BATCH):
            part = rows.slice(start, BATCH)
            writer.writerows(zip(*([json.dumps(v) if isinstance(v, list) else v for v in column.to_pylist()] for column in part.columns), strict=True))
            tell(start + len(part), len(rows), name)


def _jsonl(path: str, rows: pa.Table, name: str, tell: Tell) -> None:
    parse = {column.name for column in TABLES[name] if column.type == "json"}
    with open(path, "w", encoding="utf-8") as file:
        for start in range(0, len(rows), BATCH):
            part = rows.slice(start, BATCH)
            for row in part.to_pylist():
                said = {key: json.loads(value) if key in parse else plain(value) for key, value in row.items() if value is not None}
                file.write(json.dumps(said, ensure_ascii=False) + "\n")
            tell(start + len(part), len(rows), name)


_WRITERS = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}


def tensorboard(run: Any, out: str, dialect: str | None, tell: Tell) -> dict[str, int]:
    """Every merged series as scalars, with the times they were logged at."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise MissingExtra("tensorboard", "tensorboard", "exporting to TensorBoard") from error
    names = run.metrics()["name"].tolist()
    writer = EventFileWriter(out)
    count = 0
    for i, name in enumerate(names):
        found, key = run.series(name), _in_dialect(name, dialect)
        for step, time_ns, value in zip(found["step"].tolist(), found["time_ns"].tolist(), found["value"].tolist(), strict=True):
            if key is not None:
                writer.add_event(Event(wall_time=time_ns / 1e9, step=step, summary=Summary(value=[Summary.Value(tag=key, simple_value=value)])))
                count += 1
        tell(i + 1, len(names), name)
    writer.close()
    newest = max((os.path.join(out, file) for file in os.listdir(out) if "tfevents" in file), key=os.path.getmtime)
    return {newest: count}


def _in_dialect(name: str, dialect: str | None) -> str | None:
    """A framework's key for a name, None where it has none of the same number."""
    return name if dialect is None else next(iter(dialects.rename({name: 1.0}, dialect)), None)
