"""Trackio's databases: one SQLite file per project, one run of ours per run of theirs.

Hugging Face logs to Trackio without a step, so its own counter counts log calls; where a row carries `train/global_step`, that is
the step. Rows that have none (tables, profiling) keep Trackio's. Tables of completions become samples, profiling times become spans.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rollscope.sources.files import sqlite
from rollscope.sources.intake.gather import Gather, number, run_id, whole
from rollscope.sources.intake.guess import algorithm, framework
from rollscope.sources.intake.tables import sample

from . import Item, Mark, Records, Restart, Run, Since, Skipped

NAMES = ("trackio",)
MANY = 200_000
GLOBAL = "train/global_step"
PROFILING = "profiling/Time taken: "


def recognises(path: Path) -> bool:
    return {"metrics", "configs"} <= sqlite.tables(path)


def rows(path: Path, since: Since) -> Iterator[Item]:
    db = sqlite.connect(path)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        for name, key in _runs(db):
            yield from _run(db, path, name, key, since)
    except sqlite3.DatabaseError as error:
        yield Skipped(f"the database is damaged from here on: {error}", path)
    finally:
        db.close()


def _runs(db: sqlite3.Connection) -> list[tuple[str, str | None]]:
    """Runs by name and, in newer files, by id: two runs may share a name."""
    if "run_id" in _columns(db, "metrics"):
        return db.execute("select run_name, run_id from metrics group by run_name, run_id order by min(id)").fetchall()
    return [(name, None) for (name,) in db.execute("select run_name from metrics group by run_name order by min(id)")]


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"pragma table_info({table})")}


def _run(db: sqlite3.Connection, path: Path, name: str, key: str | None, since: Since) -> Iterator[Item]:
    where, keys = ("run_name = ? and run_id is ?", (name, key)) if key else ("run_name = ?", (name,))
    id = run_id(name, "trackio", path.stem, key or name)
    cursor = since.get(id) or {"row": 0}
    config = _config(db, where, keys)
    names = _names(db, where, keys)
    found = framework(names, config)
    facts = {
        "name": name,
        "project": path.stem,
        "config": config or None,
        "framework": found,
        "algorithm": algorithm(found, config),
    }
    (first,) = db.execute(f"select timestamp from metrics where {where} order by id limit 1", keys).fetchone()
    yield Run(id=id, kind=NAMES[0], facts={**facts, "started_ns": _time_ns(first)})
    if cursor.get("first", first) != first:
        yield Restart("the run was recorded anew since it was last imported: it is read anew")
        cursor = {"row": 0}
    last = cursor["row"]
    (total,) = db.execute(f"select count(*) from metrics where {where} and id > ?", (*keys, last)).fetchone()
    gather, taken = _Taker(path), 0
    for row, timestamp, step, metrics in db.execute(
        f"select id, timestamp, step, metrics from metrics where {where} and id > ? order by id", (*keys, last)
    ):
        last, taken = row, taken + 1
        gather.take(row, _time_ns(timestamp), step, metrics)
        if gather.numbers.count >= MANY:
            yield from gather.flush()
            yield Mark({"row": last, "first": first}, taken, total)
    yield from gather.flush()
    yield from gather.numbers.skipped()
    yield from gather.skipped
    yield Mark({"row": last, "first": first}, taken, total)


def _names(db: sqlite3.Connection, where: str, keys: tuple[Any, ...]) -> set[str]:
    found: set[str] = set()
    for (metrics,) in db.execute(f"select metrics from metrics where {where} order by id limit 50", keys):
        try:
            found |= json.loads(metrics).keys()
        except (ValueError, AttributeError):
            continue
    return found


def _config(db: sqlite3.Connection, where: str, keys: tuple[Any, ...]) -> dict[str, Any]:
    if "run_id" not in _columns(db, "configs"):
        where, keys = "run_name = ?", keys[:1]
    row = db.execute(f"select config from configs where {where}", keys).fetchone()
    try:
        config = json.loads(row[0]) if row else {}
    except (ValueError, TypeError):  # damaged: the metrics are worth more
        config = {}
    return {key: value for key, value in config.items() if not key.startswith("_")} if isinstance(config, dict) else {}


def _time_ns(text: str | None) -> int:
    try:
        return round(datetime.fromisoformat(text or "").timestamp() * 1e9)
    except ValueError:
        return 0


class _Taker:
    """One row of the database after the other: numbers, tables of completions, profiling."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers = Gather(path)
        self.skipped: list[Skipped] = []
        self._samples: list[dict[str, Any]] = []
        self._spans: list[dict[str, Any]] = []

    def take(self, row: int, time_ns: int, step: int, metrics: bytes | str) -> None:
        try:
            data = json.loads(metrics)
            if not isinstance(data, dict):
                raise TypeError(f"a {type(data).__name__}, not an object")
        except (ValueError, TypeError, RecursionError) as error:
            self.skipped.append(Skipped(f"row {row} of the table metrics is not JSON ({error})", self.path))
            return
        at = whole(data.get(GLOBAL))
        step = at if at is not None else whole(step) or 0
        for name in [name for name, value in data.items() if isinstance(value, dict)]:
            self._table(row, name, data.pop(name), step, time_ns)
        for name in [name for name in data if name.startswith(PROFILING)]:
            self._profiled(row, name.removeprefix(PROFILING), number(data[name]), step, time_ns)
        splits = {
            "eval": {n: v for n, v in data.items() if n.startswith("eval/")},
            "train": {n: v for n, v in data.items() if not n.startswith("eval/")},
        }
        if splits["eval"]:
            splits["train"].pop(GLOBAL, None)  # it tells where an evaluation belongs, and is no training row of its own
        for split, values in splits.items():
            self.numbers.add(step, time_ns, values, split)

    def _table(self, row: int, name: str, value: Mapping[str, Any], step: int, time_ns: int) -> None:
        cells = value.get("_value")
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            self.numbers.add(step, time_ns, {name: value})  # counted among what was left out
            return
        found = [sample(cell, f"{row}/{i}", step, time_ns) for i, cell in enumerate(cells)]
        self._samples += [one for one in found if one is not None]

    def _profiled(self, row: int, name: str, seconds: float | None, step: int, time_ns: int) -> None:
        if seconds is not None:
            span = {
                "id": row,
                "name": name,
                "lane": "trainer/0",
                "kind": "work",
                "step": step,
                "end_ns": time_ns,
                "start_ns": time_ns - round(seconds * 1e9),
            }
            self._spans.append(
                {**span, "data": {"times": "Trackio keeps when a batch was flushed, not when each span ended"}}
            )

    def flush(self) -> Iterator[Item]:
        yield from self.numbers.points()
        for table, kept in (("samples", self._samples), ("spans", self._spans)):
            if kept:
                yield Records(table, list(kept))
                kept.clear()
