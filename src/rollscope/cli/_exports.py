"""The formats of `rollscope export`: each a function from a run to files, with how many rows went into each."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.catalog.names import dialects
from rollscope.errors import BadInput, MissingExtra
from rollscope.store import arrow
from rollscope.store.schema import TABLES
from rollscope.strict_json import encode, plain
from rollscope.views.time import chrome

FORMATS = ("parquet", "csv", "jsonl", "tensorboard", "chrome")
SECONDS = 3600.0
Tell = Callable[[int, int, str], None]


def write(
    run: Any, format: str, out: str, tables: Sequence[str] | None, dialect: str | None, tell: Tell
) -> dict[str, int]:
    """Files that were written, and the rows in each."""
    if format == "chrome":
        return {out: chrome.write(run, out, lambda done, total: tell(done, total, "spans"))}
    os.makedirs(out, exist_ok=True)
    if format == "tensorboard":
        return tensorboard(run, out, dialect, tell)
    if dialect:
        raise BadInput(
            f"a dialect is for tensorboard; {format} keeps the names as they were recorded. Leave --dialect out."
        )
    return _tables(run, format, out, tables, tell)


def rows_of(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def _tables(run: Any, format: str, out: str, tables: Sequence[str] | None, tell: Tell) -> dict[str, int]:
    """Every table that has rows, or those that were named; each batch is written as it is read."""
    written: dict[str, int] = {}
    for name in tables or TABLES:
        tell(0, 1, name)
        total = int(run.sql(f"select count(*) as n from {name}", seconds=SECONDS)["n"][0])
        if total or tables:
            path = os.path.join(out, f"{name}.{format}")
            batches = run.sql_stream(f"select * from {name}", SECONDS)
            written[path] = _WRITERS[format](path, next(batches), _told(batches, total, name, tell), name)
    return written


def _told(batches: Iterator[pa.RecordBatch], total: int, name: str, tell: Tell) -> Iterator[pa.Table]:
    done = 0
    for batch in batches:
        yield pa.Table.from_batches([batch])
        done += len(batch)
        tell(done, total, name)


def _parquet(path: str, schema: pa.Schema, parts: Iterator[pa.Table], name: str) -> int:
    """As the store has it: where a lone surrogate is escaped the column `escaped` says so, since Parquet has no text for one."""
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in parts:
            writer.write_table(part)
            rows += len(part)
    return rows


def _csv(path: str, schema: pa.Schema, parts: Iterator[pa.Table], name: str) -> int:
    rows, names = 0, [column for column in schema.names if column != arrow.ESCAPED]
    with open(path, "w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for part in parts:
            columns = _columns(part)
            writer.writerows(
                zip(
                    *([json.dumps(v) if isinstance(v, list) else v for v in columns[column]] for column in names),
                    strict=True,
                )
            )
            rows += len(part)
    return rows


def _jsonl(path: str, schema: pa.Schema, parts: Iterator[pa.Table], name: str) -> int:
    parse, rows = {column.name for column in TABLES[name] if column.type == "json"}, 0
    with open(path, "w", encoding="utf-8") as file:
        for part in parts:
            columns = _columns(part)
            for i in range(len(part)):
                said = {key: values[i] for key, values in columns.items() if values[i] is not None}
                file.write(
                    _line(
                        {
                            key: json.loads(value)
                            if key in parse
                            else value
                            if isinstance(value, str)
                            else plain(value)
                            for key, value in said.items()
                        }
                    )
                )
            rows += len(part)
    return rows


def _columns(part: pa.Table) -> dict[str, list[Any]]:
    """Columns as Python values, with escapes undone."""
    columns: dict[str, list[Any]] = {name: part[name].to_pylist() for name in part.column_names}
    for i, flag in enumerate(columns.pop(arrow.ESCAPED, ())):
        for name in flag.split(",") if flag else ():
            columns[name][i] = columns[name][i] and arrow.unescape(columns[name][i])
    return columns


def _line(said: dict[str, Any]) -> str:
    """A line of JSON as people read it; a lone surrogate, which UTF-8 has no bytes for, as JSON's own escape."""
    return encode(said).decode() + "\n"


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
        found, key = run.series(name), plain(_in_dialect(name, dialect))  # a tag is UTF-8
        for step, time_ns, value in zip(
            found["step"].tolist(), found["time_ns"].tolist(), found["value"].tolist(), strict=True
        ):
            if key is not None:
                writer.add_event(
                    Event(
                        wall_time=time_ns / 1e9,
                        step=step,
                        summary=Summary(value=[Summary.Value(tag=key, simple_value=value)]),
                    )
                )
                count += 1
        tell(i + 1, len(names), name)
    writer.close()
    newest = max((os.path.join(out, file) for file in os.listdir(out) if "tfevents" in file), key=os.path.getmtime)
    return {newest: count}


def _in_dialect(name: str, dialect: str | None) -> str | None:
    """A framework's key for a name, None where it has none of the same number."""
    return name if dialect is None else next(iter(dialects.rename({name: 1.0}, dialect)), None)
