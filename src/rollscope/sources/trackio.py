"""Trackio's databases: one SQLite file per project, one run for each of theirs.

Hugging Face logs to Trackio without a step, so Trackio's own step counts log calls. A row with
`train/global_step` is put at that step; rows without it (tables, profiling) keep Trackio's step.
Tables of completions and traces become samples, profiling times become spans.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rollscope.sources.dumps.traces import trace
from rollscope.sources.files import sqlite
from rollscope.sources.intake.gather import Gather, number, run_id, whole
from rollscope.sources.intake.guess import origin
from rollscope.sources.intake.tables import sample

from . import Item, Mark, Records, Restart, RunStart, Since, Skipped

NAMES = ("trackio",)
MANY = 200_000  # values between two marks
TRACES = 1_000  # that are read at once
PER_ROW = 10  # a row of another table counts as so many values
GLOBAL = "train/global_step"
PROFILING = "profiling/Time taken: "
CAVEAT = "Trackio keeps when a batch was flushed, not when each span ended"


def recognises(path: Path) -> bool:
    return {"metrics", "configs"} <= sqlite.tables(path)


def rows(path: Path, since: Since) -> Iterator[Item]:
    db = sqlite.connect(path)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        for name, key in _runs(db):
            if isinstance(name, str):
                yield from _run(db, path, name, key, since)
            else:
                yield Skipped(f"the name of a run is not a text but {name!r}", path)
    except sqlite3.DatabaseError as error:
        yield Skipped(f"the database is damaged from here on: {error}", path)
    finally:
        db.close()
    if (why := sqlite.unread_log(path)) is not None:
        yield Skipped(why, path)


def _runs(db: sqlite3.Connection) -> list[tuple[Any, Any]]:
    """Name and id of each run. Two runs may share a name; older files have no ids."""
    if "run_id" in _columns(db, "metrics"):
        return db.execute("select run_name, run_id from metrics group by run_name, run_id order by min(id)").fetchall()
    return [(name, None) for (name,) in db.execute("select run_name from metrics group by run_name order by min(id)")]


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"pragma table_info({table})")}


def _run(db: sqlite3.Connection, path: Path, name: str, key: Any, since: Since) -> Iterator[Item]:
    where, keys = ("run_name = ? and run_id is ?", (name, key)) if key else ("run_name = ?", (name,))
    id = run_id(name, "trackio", path.stem, key or name)
    cursor = since.get(id) or {"row": 0}
    config = _config(db, where, keys)
    about = origin(_names(db, where, keys), config)
    facts = {"name": name, "project": path.stem, "config": config or None, **about}
    (first,) = db.execute(f"select timestamp from metrics where {where} order by id limit 1", keys).fetchone()
    yield RunStart(id=id, kind=NAMES[0], facts={**facts, "started_ns": _time_ns(first)})
    if cursor.get("first", first) != first:
        yield Restart("the run was recorded again since the last import; it is read from the start")
        cursor = {"row": 0}
    last = cursor["row"]
    (total,) = db.execute(f"select count(*) from metrics where {where} and id > ?", (*keys, last)).fetchone()
    content, done = _Content(path), 0
    query = f"select id, timestamp, step, metrics from metrics where {where} and id > ? order by id"
    for row, timestamp, step, metrics in db.execute(query, (*keys, last)):
        last, done = row, done + 1
        content.add(row, _time_ns(timestamp), step, metrics)
        if content.numbers.count + PER_ROW * content.rows() >= MANY:
            yield from content.flush()
            yield Mark({**cursor, "row": last, "first": first}, done, total)
    yield from content.flush()
    yield from content.numbers.skipped()
    cursor = {**cursor, "row": last, "first": first}
    yield Mark(cursor, done, total)
    yield from _traces(db, path, where, keys, cursor)


def _traces(
    db: sqlite3.Connection, path: Path, where: str, keys: tuple[Any, ...], cursor: dict[str, Any]
) -> Iterator[Item]:
    """The traces of a run that are new."""
    if not {"key", "messages", "metadata"} <= _columns(db, "traces"):
        return
    query = f"select rowid, id, timestamp, step, key, messages, metadata from traces where {where} and rowid > ?"
    found = db.execute(f"{query} order by rowid", (*keys, cursor.get("trace", 0)))
    while some := found.fetchmany(TRACES):
        samples = []
        for row, id, timestamp, step, key, messages, about in some:
            try:
                read = json.loads(messages), json.loads(about or "null")
            except (ValueError, TypeError, RecursionError) as error:
                yield Skipped(f"row {row} of the table traces is not JSON ({error})", path)
                continue
            samples.append(trace(*read, f"{key}/{id}", whole(step) or 0, _time_ns(timestamp)))
        yield Records("samples", [one for one in samples if one is not None])
        yield Mark({**cursor, "trace": some[-1][0]})


def _names(db: sqlite3.Connection, where: str, keys: tuple[Any, ...]) -> set[str]:
    """The names in the first rows."""
    names: set[str] = set()
    for (metrics,) in db.execute(f"select metrics from metrics where {where} order by id limit 50", keys):
        with contextlib.suppress(ValueError, AttributeError, TypeError, RecursionError):
            names |= json.loads(metrics).keys()
    return names


def _config(db: sqlite3.Connection, where: str, keys: tuple[Any, ...]) -> dict[str, Any]:
    if "run_id" not in _columns(db, "configs"):
        where, keys = "run_name = ?", keys[:1]
    row = db.execute(f"select config from configs where {where}", keys).fetchone()
    try:
        config = json.loads(row[0]) if row else {}
    except (ValueError, TypeError, RecursionError):  # damaged: import the metrics without it
        config = {}
    return {key: value for key, value in config.items() if not key.startswith("_")} if isinstance(config, dict) else {}


def _time_ns(text: str | None) -> int:
    try:
        return round(datetime.fromisoformat(text or "").timestamp() * 1e9)
    except (ValueError, TypeError, OverflowError):
        return 0


class _Content:
    """Collects numbers, tables of completions and profiling times of a run's rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers = Gather(path)
        self.skipped: list[Skipped] = []
        self._samples: list[dict[str, Any]] = []
        self._spans: list[dict[str, Any]] = []

    def add(self, row: int, time_ns: int, step: int, metrics: bytes | str) -> None:
        try:
            data = json.loads(metrics)
            if not isinstance(data, dict):
                raise TypeError(f"a {type(data).__name__}, not an object")
        except (ValueError, TypeError, RecursionError) as error:
            self.skipped.append(Skipped(f"row {row} of the table metrics is not JSON ({error})", self.path))
            return
        global_step = whole(data.get(GLOBAL))
        step = global_step if global_step is not None else whole(step) or 0
        for name in [name for name, value in data.items() if isinstance(value, dict)]:
            self._add_table(row, name, data.pop(name), step, time_ns)
        for name in [name for name in data if name.startswith(PROFILING)]:
            self._add_span(row, name.removeprefix(PROFILING), number(data[name]), step, time_ns)
        splits = {
            "eval": {n: v for n, v in data.items() if n.startswith("eval/")},
            "train": {n: v for n, v in data.items() if not n.startswith("eval/")},
        }
        if splits["eval"]:
            splits["train"].pop(GLOBAL, None)  # it is the step of the evaluation, not a training row
        for split, values in splits.items():
            self.numbers.add(step, time_ns, values, split)

    def _add_table(self, row: int, name: str, value: Mapping[str, Any], step: int, time_ns: int) -> None:
        cells = value.get("_value")
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            self.numbers.add(step, time_ns, {name: value})  # is reported as skipped
            return
        samples = [sample(cell, f"{row}/{i}", step, time_ns) for i, cell in enumerate(cells)]
        self._samples += [one for one in samples if one is not None]

    def _add_span(self, row: int, name: str, seconds: float | None, step: int, time_ns: int) -> None:
        if seconds is not None:
            span = {"id": row, "name": name, "lane": "trainer/0", "kind": "work", "step": step}
            times = {"start_ns": time_ns - round(seconds * 1e9), "end_ns": time_ns}
            self._spans.append({**span, **times, "data": {"times": CAVEAT}})

    def rows(self) -> int:
        return len(self._samples) + len(self._spans) + len(self.skipped)

    def flush(self) -> Iterator[Item]:
        yield from self.numbers.points()
        for table, collected in (("samples", self._samples), ("spans", self._spans)):
            if collected:
                yield Records(table, list(collected))
                collected.clear()
        yield from self.skipped
        self.skipped.clear()
