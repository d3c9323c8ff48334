"""CSV tables: one row per step and one column per metric, or W&B's export of a chart.

W&B's columns are `Step`, `run - metric`, `run - metric__MIN`, `run - metric__MAX`, ...
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rollscope.sources.files.lines import LONGEST, lines
from rollscope.sources.intake.gather import WORDS, Gather, run_id
from rollscope.sources.intake.guess import origin
from rollscope.visible import from_csv_cell

from . import Item, Mark, Restart, RunStart, Since, Skipped, SourceError
from .jsonl import STEPS, TIMES, step_of, time_of

NAMES = ("csv", "wandb csv export")
ORDER = 10
MANY = 200_000  # values between two marks
BETWEEN = " - "  # W&B writes "run name - metric"
X_AXES = ("Step", "Relative Time (Process)", "Wall Time")  # the first column of a W&B export
COLUMNS = 20_000
csv.field_size_limit(LONGEST)  # a cell may hold a whole completion


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".csv":
        return False
    header = _header(path)
    return len(header) > 1 and any(name.lower() in (*STEPS, *TIMES) or name == X_AXES[1] for name in header)


def rows(path: Path, since: Since) -> Iterator[Item]:
    """The runs of a table are read together, in one pass."""
    header = _header(path)
    if len(header) > COLUMNS:
        raise SourceError(f"it has {len(header):,} columns; a table of numbers has at most {COLUMNS:,}")
    stat = path.stat()
    runs = [_Run(path, run, columns, stat.st_mtime_ns) for run, columns in _runs(header).items()]
    digests: dict[int, str] = {}
    for run in runs:
        yield run.start
        cursor = since.get(run.start.id) or {"rows": 0}
        run.known = cursor["rows"]
        if run.known and run.known not in digests:
            digests[run.known] = _digest(path, run.known)
        if run.known and cursor["digest"] != digests[run.known]:
            yield Restart("the file was rewritten since the last import; it is read from the start")
            run.known = 0
    yield from _read(path, header, runs, stat)


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            return [*map(from_csv_cell, next(csv.reader([file.readline(LONGEST)]), []))]
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


class _Run:
    """One run of a table: its columns, the rows that are known, and the new ones."""

    def __init__(self, path: Path, name: str, columns: dict[int, str], time_ns: int) -> None:
        name = name or path.stem
        facts = {"name": name, "project": path.parent.name, "ended_ns": time_ns, **origin(columns.values())}
        self.start = RunStart(id=run_id(name, "csv", path, name), kind=NAMES[0], facts=facts)
        self.columns = {i: metric for i, metric in columns.items() if metric.lower() not in (*STEPS[:2], *TIMES)}
        self.gather = Gather(path)
        self.known = 0


def _read(path: Path, header: list[str], runs: list[_Run], stat: os.stat_result) -> Iterator[Item]:
    low = [name.lower() for name in header]
    count, seen = 0, _Seen(header)
    for count, (line, cells) in enumerate(_cells(path, stat.st_size), 1):
        seen.add(cells)
        new = [run for run in runs if count > run.known]
        if new and len(cells) != len(header):
            yield Skipped(f"line {line} has {len(cells)} cells, but the header has {len(header)}", path)
        elif new:
            _add(dict(zip(low, map(cell, cells), strict=True)), cells, count - 1, new, stat.st_mtime_ns)
            if sum(run.gather.count for run in new) >= MANY:
                yield from _flush(new, Mark({"rows": count, "digest": seen.digest()}, count, 0))
    yield from _flush(runs, Mark({"rows": count, "digest": seen.digest()}, stat.st_size, stat.st_size))
    for run in runs:
        yield from run.gather.skipped()


def _add(row: dict[str, Any], cells: list[str], number: int, runs: list[_Run], time_ns: int) -> None:
    step, at = step_of(row, number), time_of(row, time_ns)
    for run in runs:
        run.gather.add(step, at, {metric: cell(cells[i]) for i, metric in run.columns.items()})


def _flush(runs: list[_Run], mark: Mark) -> Iterator[Item]:
    for run in runs:
        yield run.start
        yield from run.gather.points()
        yield mark


def _cells(path: Path, size: int) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the line it ends at, in the first `size` bytes."""
    reader = csv.reader(_text_lines(path, size))
    next(reader, None)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise SourceError(f"line {reader.line_num} cannot be read, nor what follows: {error}") from error
        if cells is None:
            return
        yield reader.line_num, cells


def _text_lines(path: Path, size: int) -> Iterator[str]:
    """The lines of a file; one that is too long ends the table: a cell may go on in the next."""
    for offset, raw, _ in lines(path):
        if offset >= size:
            return
        if raw is None:
            raise SourceError(f"a line has more than {LONGEST >> 20} MB; it is not read, nor what follows")
        text = raw.decode("utf-8-sig" if not offset else "utf-8", "replace")
        if "\r" in text[:-2]:  # a line may also end with a carriage return alone
            yield from io.StringIO(text, newline="")
        else:
            yield text


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
    for _, cells in islice(_cells(path, path.stat().st_size), rows):
        seen.add(cells)
    return seen.digest()


def cell(text: str) -> Any:
    """A number if the text is one, None if it is empty, else the text."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return WORDS.get(text, from_csv_cell(text))
