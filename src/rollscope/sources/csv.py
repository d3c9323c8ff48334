"""CSV tables: one row per step and one column per metric, or W&B's export of a chart.

W&B's columns are `Step`, `run - metric`, `run - metric__MIN`, `run - metric__MAX`, ...
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rollscope.sources.intake.gather import WORDS, Gather, run_id
from rollscope.sources.intake.guess import origin

from . import Item, Mark, Restart, RunStart, Since, Skipped
from .jsonl import STEPS, TIMES, step_of, time_of

NAMES = ("csv", "wandb csv export")
ORDER = 10
MANY = 200_000  # values between two marks
BETWEEN = " - "  # W&B writes "run name - metric"
X_AXES = ("Step", "Relative Time (Process)", "Wall Time")  # the first column of a W&B export
csv.field_size_limit(1 << 28)  # a cell may hold a whole completion


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".csv":
        return False
    header = _header(path)
    return len(header) > 1 and any(name.lower() in (*STEPS, *TIMES) or name == X_AXES[1] for name in header)


def rows(path: Path, since: Since) -> Iterator[Item]:
    header = _header(path)
    for run, columns in _runs(header).items():
        yield from _run(path, run or path.stem, header, columns, since)


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            return next(csv.reader([file.readline(1 << 24)]), [])
        except csv.Error:
            return []


def _runs(header: list[str]) -> dict[str, dict[int, str]]:
    """Run name -> column -> metric. The name is '' if the table holds one run.

    W&B's MIN and MAX columns come from its own sampling of the chart; they are left out.
    """
    runs: dict[str, dict[int, str]] = {}
    exported = bool(header) and header[0] in X_AXES and any(BETWEEN in name for name in header)
    for column, name in enumerate(header):
        if exported and BETWEEN in name:
            run, _, metric = name.rpartition(BETWEEN)
            if not metric.endswith(("__MIN", "__MAX")) and metric != "_step":
                runs.setdefault(run, {})[column] = metric
        elif not exported:
            runs.setdefault("", {})[column] = name
    return runs


def _run(path: Path, name: str, header: list[str], columns: dict[int, str], since: Since) -> Iterator[Item]:
    id = run_id(name, "csv", path, name)
    stat = path.stat()
    cursor = since.get(id) or {"rows": 0}
    facts = {"name": name, "project": path.parent.name, "ended_ns": stat.st_mtime_ns}
    yield RunStart(id=id, kind=NAMES[0], facts={**facts, **origin(columns.values())})
    if cursor["rows"] and cursor["digest"] != _digest(path, cursor["rows"]):
        yield Restart("the file was rewritten since the last import; it is read from the start")
        cursor = {"rows": 0}
    gather, count, seen = Gather(path), 0, _Seen(header)
    for count, (line, cells) in enumerate(_cells(path), 1):
        seen.add(cells)
        if count <= cursor["rows"]:
            continue
        if len(cells) != len(header):
            yield Skipped(f"line {line} has {len(cells)} cells, but the header has {len(header)}", path)
            continue
        row = {column.lower(): cell(value) for column, value in zip(header, cells, strict=True)}
        values = {metric: cell(cells[i]) for i, metric in columns.items() if metric.lower() not in (*STEPS[:2], *TIMES)}
        gather.add(step_of(row, count - 1), time_of(row, stat.st_mtime_ns), values)
        if gather.count >= MANY:
            yield from gather.points()
            yield Mark({"rows": count, "digest": seen.digest()}, count, 0)
    yield from gather.points()
    yield from gather.skipped()
    yield Mark({"rows": count, "digest": seen.digest()}, stat.st_size, stat.st_size)


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the line it ends at."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file)
        next(reader, None)
        for cells in reader:
            yield reader.line_num, cells


class _Seen:
    """A digest of the rows read so far: it tells a table that grew from one that was rewritten."""

    def __init__(self, header: list[str]) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self.add(header)

    def add(self, cells: list[str]) -> None:
        self._hash.update("\0".join(cells).encode("utf-8", "surrogatepass") + b"\n")

    def digest(self) -> str:
        return self._hash.hexdigest()


def _digest(path: Path, rows: int) -> str:
    seen = _Seen(_header(path))
    for _, cells in islice(_cells(path), rows):
        seen.add(cells)
    return seen.digest()


def cell(text: str) -> Any:
    """A number if the text is one, None if it is empty, else the text."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return WORDS.get(text, text)
