"""MLflow's stores: the SQLite database, and the older folders (`mlruns/<experiment>/<run>`).

MLflow's database stores an infinity as the largest double; it is read as infinity.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.sources.files import sqlite
from rollscope.sources.files.inside import inside
from rollscope.sources.files.lines import LONGEST
from rollscope.sources.intake.gather import LONGEST_NAME, run_id, whole
from rollscope.sources.intake.guess import origin

from . import Item, Mark, Points, Restart, RunStart, Since, Skipped

NAMES = ("mlflow",)
LARGEST = 1.7976931348623157e308
MANY = 200_000  # values between two marks
RUNS = """
    select r.run_uuid, r.name, r.status, r.start_time, r.end_time, e.name
    from runs r join experiments e using (experiment_id)
"""
METRICS = """
    select rowid, key, value, timestamp, step, is_nan from metrics
    where run_uuid = ? and rowid > ? order by rowid
"""
STATES = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "crashed", "RUNNING": "running"}


def recognises(path: Path) -> bool:
    if path.is_dir():
        return (path / "meta.yaml").exists() and (path / "metrics").is_dir()
    return {"metrics", "latest_metrics", "experiments"} <= sqlite.tables(path)


def rows(path: Path, since: Since) -> Iterator[Item]:
    if path.is_dir():
        yield from _folder(path, since)
        return
    db = sqlite.connect(path)
    try:
        for run in db.execute(RUNS).fetchall():
            yield from _run(db, path, run, since)
    except sqlite3.DatabaseError as error:
        yield Skipped(f"the database is damaged from here on: {error}", path)
    finally:
        db.close()
    if (why := sqlite.unread_log(path)) is not None:
        yield Skipped(why, path)


def _run(db: sqlite3.Connection, path: Path, run: tuple[Any, ...], since: Since) -> Iterator[Item]:
    uuid, name, status, start, end, experiment = run
    start, end = whole(start), whole(end)
    id = run_id(str(name or uuid), "mlflow", uuid)
    config = dict(db.execute("select key, value from params where run_uuid = ?", (uuid,)).fetchall())
    keys = db.execute("select distinct key from metrics where run_uuid = ?", (uuid,))
    names = [key for (key,) in keys if isinstance(key, str) and len(key) <= LONGEST_NAME]
    facts = {
        "name": name or uuid,
        "project": experiment,
        "config": config or None,
        **origin([name.replace("_at_", "@") for name in names], config),
        "started_ns": start * 10**6 if start else None,
        "ended_ns": end * 10**6 if end else None,
        "state": STATES.get(status, "finished"),
    }
    yield RunStart(id=id, kind=NAMES[0], facts=facts)
    last = (since.get(id) or {"row": 0})["row"]
    index = {key: i for i, key in enumerate(names)}
    cursor = db.execute(METRICS, (uuid, last))
    while some := cursor.fetchmany(MANY):
        last = some[-1][0]
        good = [row for row in some if row[1] in index and _is_point(row)]
        if len(good) < len(some):
            yield Skipped(f"{len(some) - len(good)} rows of the table metrics are not numbers", path)
        if good:
            yield _points(good, names, index)
        yield Mark({"row": last})
    yield Mark({"row": last})


def _is_point(row: tuple[Any, ...]) -> bool:
    """SQLite lets any column hold any type."""
    _, _, value, stamp, step, _ = row
    return isinstance(value, int | float) and type(stamp) is int and type(step) is int


def _points(rows: list[tuple[Any, ...]], names: list[str], index: dict[str, int]) -> Points:
    _, keys, values, stamps, steps, nan = zip(*rows, strict=True)
    numbers = np.where(np.array([bool(x) for x in nan]), math.nan, np.array(values, np.float64))
    numbers = np.where(np.abs(numbers) >= LARGEST, np.copysign(math.inf, numbers), numbers)
    name_index = np.array([index[key] for key in keys], np.uint32)
    return Points(names, np.array(steps, np.int64), np.array(stamps, np.int64) * 10**6, numbers, name_index)


def _folder(path: Path, since: Since) -> Iterator[Item]:
    """A run's folder in the file store; a metric is a file of `milliseconds value step` lines."""
    about = dict(_yaml(path / "meta.yaml"))
    config = {name: _text(file) for name, file in _files(path / "params").items()}
    metrics = _files(path / "metrics")
    name = about.get("run_name") or path.name
    id = run_id(name, "mlflow", about.get("run_id") or path)
    facts = {"name": name, "project": path.parent.name, "config": config or None, **origin(metrics, config)}
    yield RunStart(id=id, kind=NAMES[0], facts=facts)
    seen: dict[str, int] = dict(since.get(id) or {})
    for metric, file in metrics.items():
        lines = _text(file).splitlines()
        if seen.get(metric, 0) > len(lines):
            yield Restart(f"{metric} is shorter than at the last import; the run is read from the start")
            seen = {}
        good = [point for line in lines[seen.get(metric, 0) :] if (point := _point(line)) is not None]
        if bad := len(lines) - seen.get(metric, 0) - len(good):
            yield Skipped(f"{bad} lines are not 'milliseconds value step'", file)
        if good:
            times, values, steps = zip(*good, strict=True)
            columns = np.array(steps, np.int64), np.array(times, np.int64), np.array(values, np.float64)[:, None]
            yield Points([metric], *columns)
        seen[metric] = len(lines)
    yield Mark(seen)


def _point(line: str) -> tuple[int, float, int] | None:
    """Time in nanoseconds, value and step of a line; None if it is not one."""
    try:
        milliseconds, value, step = line.split()
        point = int(milliseconds) * 10**6, float(value), int(step)
    except ValueError:
        return None
    return point if abs(point[0]) < 2**63 and abs(point[2]) < 2**63 else None


def _text(file: Path) -> str:
    """The text of a small file. MLflow writes metrics and parameters as one file each."""
    with file.open("rb") as opened:
        return opened.read(LONGEST).decode("utf-8", "replace")


def _files(folder: Path) -> dict[str, Path]:
    """The files below a folder by relative name, sorted by path. A link that leads out is none."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))]
    return {name: folder / name for name in names if inside(folder, name) is not None}


def _yaml(path: Path) -> Iterator[tuple[str, str]]:
    """The flat `key: value` lines that MLflow writes."""
    for line in _text(path).splitlines():
        key, colon, value = line.partition(":")
        if colon and not key.startswith(" "):
            yield key, value.strip().strip("'\"")
