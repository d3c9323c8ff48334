"""The records of all runs of a folder, newest first: the row of each run in the runs table.

Runs that are over come from the index; the others are opened, one at a time, and closed again. If
only the newest are asked for, runs that cannot be among them are not opened.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from rollscope.store import run_json
from rollscope.store.live.tail import Tail
from rollscope.store.log import files
from rollscope.store.schema import TABLES

from . import unreadable
from .entries import Entry, log_marks
from .index import Index, Row, is_settled

LARGE = ("config", "environment", "declared")  # columns that a list does not show: kept in a file of their own
OVER = ("finished", "crashed", "killed")
SKEW_NS = 600 * 10**9  # how far the clock of a writer may be ahead of that of its disk
Facts = dict[str, Any]


class Readable(Protocol):
    """What the list asks of a run's reader."""

    def record(self) -> Facts: ...
    def refresh(self) -> bool: ...
    def logs(self) -> list[Tail]: ...
    def check_readable(self) -> None: ...


@dataclass
class Records:
    """The list of one root. `look` finds its runs, `open_run` opens the reader of one."""

    root: str
    look: Callable[[], list[Entry]]
    open_run: Callable[[Entry], Readable]
    _details: dict[str, Facts] = field(default_factory=dict)

    @cached_property
    def _listed(self) -> Index:
        return Index(self.root, "listed")

    @cached_property
    def _large(self) -> Index:
        return Index(self.root, "details")

    def whole(self) -> list[Facts]:
        """Every run with every column, newest first."""
        found = self.look()
        rows = [self._whole(entry) for entry in found]
        self._save()
        return sorted(rows, key=_order)

    def newest(self, most: int | None = None, project: str | None = None) -> list[Facts]:
        """Runs without the columns of `LARGE`, newest first: all, or the `most` newest."""
        looked = [(entry, self._indexed(entry)) for entry in self.look()]
        rows = [row for _, row in looked if row is not None and project in (None, row["project"])]
        newest = heapq.nlargest(len(rows) if most is None else most, map(_started, rows))
        heapq.heapify(newest)
        for bound, entry in _latest_first([entry for entry, row in looked if row is None]):
            if most is not None and len(newest) >= most and (not newest or bound < newest[0]):
                break
            row = self._read(entry)
            if project in (None, row["project"]):
                rows.append(row)
                _push(newest, _started(row), most)
        self._save()
        return sorted(rows, key=_order)[:most]

    def _indexed(self, entry: Entry) -> Facts | None:
        row = self._listed.get(entry)
        return row.value if row is not None and _is_record(row.value, entry) else None

    def _whole(self, entry: Entry) -> Facts:
        row, indexed = self._indexed(entry), self._large.get(entry)
        large = {} if indexed is None else indexed.value
        if row is None or indexed is None or not all(run_json.fits(name, large.get(name)) for name in LARGE):
            row = self._read(entry)
            large = self._details.pop(entry.id, {})
        whole = row | {name: large.get(name) for name in LARGE}
        return {column.name: whole[column.name] for column in TABLES["runs"]}

    def _read(self, entry: Entry) -> Facts:
        """Open a run, read its record, and index it if it is over."""
        if entry.problem:
            return _small(unreadable.record(entry.id, unreadable.sentence(entry.id, entry.problem)))
        try:
            reader = self.open_run(entry)
            reader.check_readable()
            record = dict(reader.record())
            self._details[entry.id] = large = {name: record[name] for name in LARGE}
            if (row := index_row(entry, reader, _small(record))) is not None:
                self._listed.add(entry, row)
                self._large.add(entry, replace(row, value={"state": record["state"], **large}))
        except Exception as error:  # whatever is wrong with this run, the others are listed
            record = unreadable.record(entry.id, unreadable.sentence(entry.id, error))
        return _small(record)

    def _save(self) -> None:
        self._details.clear()
        self._listed.save()
        self._large.save()


def index_row(entry: Entry, reader: Readable, value: Facts) -> Row | None:
    """A row to index, if the run is over and did not change while it was read."""
    if value["state"] not in OVER:
        return None
    tails = reader.logs()
    try:
        marks = log_marks(entry.path, [os.path.basename(tail.path) for tail in tails])
    except FileNotFoundError:  # sealed meanwhile: the run did change
        return None
    now = entry.again()
    if reader.refresh() or now is None or now.marks != entry.marks or not is_settled(entry, marks):
        return None
    logs = {os.path.basename(tail.path): None if tail.closed else tail.facts for tail in tails}
    return Row(entry.marks, marks, logs, value)


def _small(record: Facts) -> Facts:
    return {name: value for name, value in record.items() if name not in LARGE}


def _is_record(row: Facts, entry: Entry) -> bool:
    """True if an indexed row has every column with its type: the file may hold anything."""
    names = [column.name for column in TABLES["runs"] if column.name not in LARGE]
    return row.get("id") == entry.id and all(name in row and run_json.fits(name, row[name]) for name in names)


def _latest_first(unknown: list[Entry]) -> list[tuple[float, Entry]]:
    """Runs with a time that none of them can have begun after, latest first."""
    return sorted(((_bound(entry), entry) for entry in unknown), key=lambda pair: -pair[0])


def _bound(entry: Entry) -> float:
    """The newest change of any file of a run: its first row is no younger, clocks aside."""
    try:
        return files.newest(entry.path) * 1e9 + SKEW_NS
    except OSError:
        return -math.inf  # it cannot be read, so it comes last


def _push(newest: list[int], started: int, most: int | None) -> None:
    if most is None or len(newest) < most:
        heapq.heappush(newest, started)
    elif newest:
        heapq.heappushpop(newest, started)


def _started(record: Facts) -> int:
    return record["started_ns"] or 0


def _order(record: Facts) -> tuple[int, str]:
    return -_started(record), record["id"]
