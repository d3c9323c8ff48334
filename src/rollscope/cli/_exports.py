"""The formats of `rollscope export`. Each writes files and counts the rows in each."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import socket
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope import whole_file
from rollscope.errors import BadInput, MissingExtra
from rollscope.store import arrow
from rollscope.store.naming import Logged
from rollscope.store.run import Run
from rollscope.store.schema import TABLES
from rollscope.strict_json import encode, plain
from rollscope.views.dictionary import in_dialect
from rollscope.views.time import chrome
from rollscope.visible import csv_cell

from ._spoken_rows import spoken_rows

FORMATS = ("parquet", "csv", "jsonl", "tensorboard", "chrome")
SECONDS = 3600.0  # time limit of a query
Report = Callable[[int, int, str], None]  # rows done, rows in total, what they are
Files = dict[str, int]  # path -> rows


def write(run: Run, format: str, out: str, tables: Sequence[str] | None, dialect: str | None, report: Report) -> Files:
    """Write a run in one format; return the files and the number of rows in each."""
    if format == "chrome":
        if dialect:
            raise BadInput("a Chrome trace has spans and no metrics, so it has no dialect. Leave out --dialect.")
        return {out: chrome.write(run, out, lambda done, total: report(done, total, "spans"))}
    os.makedirs(out, exist_ok=True)
    if format == "tensorboard":
        return tensorboard(run, out, dialect, report)
    return _tables(run, format, out, tables, dialect, report)


def _tables(
    run: Run, format: str, out: str, tables: Sequence[str] | None, dialect: str | None, report: Report
) -> Files:
    """Write the named tables, or every table that has rows. Each batch is written as it is read."""
    files: Files = {}
    for name in tables or TABLES:
        report(0, 1, name)
        total, batches = spoken_rows(run, dialect) if dialect and name == "metrics" else _recorded(run, name)
        if total or tables:
            path = os.path.join(out, f"{name}.{format}")
            schema = next(batches)
            with whole_file.written(path) as aside, contextlib.closing(batches):
                files[path] = _WRITERS[format](aside, schema, _reported(batches, total, name, report), name)
    return files


def _recorded(run: Run, table: str) -> tuple[int, Generator[Any]]:
    """How many rows a table has, and its schema and batches."""
    total = int(run.sql(f"select count(*) as n from {table}", seconds=SECONDS)["n"][0])
    return total, run.sql_stream(f"select * from {table}", SECONDS)


def _reported(batches: Iterator[pa.RecordBatch], total: int, name: str, report: Report) -> Iterator[pa.Table]:
    """The batches as tables, with progress reported after each."""
    done = 0
    for batch in batches:
        yield pa.Table.from_batches([batch])
        done += len(batch)
        report(done, total, name)


def _parquet(path: str, schema: pa.Schema, batches: Iterator[pa.Table], name: str) -> int:
    """Columns as the store has them. Parquet cannot hold lone surrogates: they are escaped, and the
    column `escaped` names the columns of a row where that was done."""
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_table(batch)
            rows += len(batch)
    return rows


def _csv(path: str, schema: pa.Schema, batches: Iterator[pa.Table], name: str) -> int:
    """Columns without lists as they are. A text that a spreadsheet would run gets an apostrophe."""
    rows, names = 0, [column for column in schema.names if column != arrow.ESCAPED]
    with open(path, "w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for batch in batches:
            columns = _columns(batch)
            cells = [[json.dumps(v) if isinstance(v, list) else csv_cell(v) for v in columns[name]] for name in names]
            writer.writerows(zip(*cells, strict=True))
            rows += len(batch)
    return rows


def _jsonl(path: str, schema: pa.Schema, batches: Iterator[pa.Table], name: str) -> int:
    """One object per line; null cells are left out. Lone surrogates are written as JSON escapes."""
    json_columns, rows = {column.name for column in TABLES[name] if column.type == "json"}, 0
    with open(path, "wb") as file:
        for batch in batches:
            columns = _columns(batch)
            for i in range(len(batch)):
                cells = {key: values[i] for key, values in columns.items() if values[i] is not None}
                row = {key: _json_cell(value, key in json_columns) for key, value in cells.items()}
                file.write(encode(row) + b"\n")
            rows += len(batch)
    return rows


def _json_cell(value: Any, is_json: bool) -> Any:
    if is_json:
        return json.loads(value)
    return value if isinstance(value, str) else plain(value)


def _columns(batch: pa.Table) -> dict[str, list[Any]]:
    """Columns as Python values, with escaped surrogates restored."""
    columns: dict[str, list[Any]] = {name: batch[name].to_pylist() for name in batch.column_names}
    for i, escaped in enumerate(columns.pop(arrow.ESCAPED, ())):
        for name in escaped.split(",") if escaped else ():
            columns[name][i] = columns[name][i] and arrow.unescape(columns[name][i])
    return columns


_WRITERS = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}


def tensorboard(run: Run, out: str, dialect: str | None, report: Report) -> Files:
    """Write every merged series as scalars, with the times at which they were logged."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter
    except ImportError as error:
        raise MissingExtra("tensorboard", "tensorboard", "exporting to TensorBoard") from error
    names = run.metrics()["name"].tolist()
    tags = in_dialect(run, names, dialect) if dialect else [Logged(name, name) for name in names]
    name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.0"
    path = os.path.join(out, name)
    rows = 0
    with whole_file.written(path) as aside, open(aside, "wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        for i, tag in enumerate(tags):
            for step, time_ns, value in _points(run, tag):
                summary = Summary(value=[Summary.Value(tag=plain(tag.asked), simple_value=value)])  # a tag is UTF-8
                writer.write(Event(wall_time=time_ns / 1e9, step=step, summary=summary).SerializeToString())
                rows += 1
            report(i + 1, len(tags), tag.stored)
    return {path: rows}


def _points(run: Run, found: Logged) -> Iterator[tuple[int, int, float]]:
    """Step, time and value of each point of a series."""
    series = run.series_of(found)
    return zip(*(series[key].tolist() for key in ("step", "time_ns", "value")), strict=True)
