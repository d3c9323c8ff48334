"""What people say about runs, in the lake: names, tags, notes, boards, marks of samples.

Each entry of a project log has an id of its own, so it is shipped once, and logs only grow on both
sides. A push ships what was said about its run, and what is about no run, such as a board. A server
ships all that was said through it, and fetches what others said.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from rollscope.store.project import entry as entries
from rollscope.store.project.append import append
from rollscope.store.project.entry import Entry
from rollscope.store.project.kinds import KINDS
from rollscope.store.project.log import ProjectLog
from rollscope.store.project.log import place as log_of

from . import engine, tables
from .place import Place

if TYPE_CHECKING:
    import duckdb

ONLY_HERE = "bin"  # a kind that tells of folders on this machine
NOT_SENT = (ONLY_HERE, "archive")  # who records a run does not hide it from others


def about(entry: Entry) -> str:
    """The id of the run that an entry is about; empty if it is about none."""
    words = KINDS[entry.kind].words if entry.kind in KINDS else ()
    if "run" not in words:
        return ""
    return (entry.name.split("/", len(words) - 1) + [""] * len(words))[words.index("run")]


def chosen(log: ProjectLog, runs: Collection[str]) -> list[Entry]:
    """The entries that go with some runs: about them, about no run, or undoing such."""
    found: dict[str, Entry] = {}
    for entry in log.follow():
        own = not entry.undoes and (about(entry) in runs or not about(entry))
        if entry.kind != ONLY_HERE and (own or any(id in found for id in entry.undoes)):
            found[entry.id] = entry
    return list(found.values())


def of_run(said: Iterable[Entry], run: str) -> list[Entry]:
    """The entries that are sent with one run: about it alone, and those that undo nothing else."""
    found: dict[str, Entry] = {}
    for entry in said:
        undoes_own = bool(entry.undoes) and all(id in found for id in entry.undoes)
        if entry.kind not in NOT_SENT and (undoes_own or (not entry.undoes and about(entry) == run)):
            found[entry.id] = entry
    return list(found.values())


def of_kinds(said: Iterable[Entry], kinds: Collection[str]) -> list[Entry]:
    """The entries of some kinds, and those that undo nothing else."""
    found: dict[str, Entry] = {}
    for entry in said:
        if all(id in found for id in entry.undoes) if entry.undoes else entry.kind in kinds:
            found[entry.id] = entry
    return list(found.values())


class Saying:
    """Ships a project log. It remembers what the lake has, so most calls ask nobody."""

    def __init__(self, place: Place, root: str) -> None:
        self._place, self._log = place, ProjectLog(root)
        self._shipped: set[str] | None = None  # None: not known

    def ship(self, runs: Collection[str]) -> int:
        """Ship the entries about some runs, and about none, that the lake lacks; count them."""
        wanted = chosen(self._log, runs)
        new = [entry for entry in wanted if self._shipped is None or entry.id not in self._shipped]
        if new:
            new = shipped(self._place, new)
        self._shipped = {entry.id for entry in wanted}
        return len(new)


def shipped(place: Place, wanted: list[Entry]) -> list[Entry]:
    """Append the entries that the lake lacks, in one transaction; return them."""
    with engine.connected(place) as connection:
        tables.upgrade(connection)
        known = _ids(connection)
        new = [entry for entry in wanted if entry.id not in known]
        if new:
            connection.register("said here", _rows(new))
            connection.execute('INSERT INTO lake.book.said BY NAME SELECT * FROM "said here"')
    return new


def _rows(new: list[Entry]) -> pa.Table:
    now = time.time_ns()
    about_whom = [about(entry) for entry in new]
    lines = [entries.line(entry).decode("ascii").rstrip("\n") for entry in new]
    return pa.table({
        "project": pa.array([""] * len(new), pa.large_string()),
        "run": pa.array(about_whom, pa.large_string()),
        "id": pa.array([entry.id for entry in new], pa.large_string()),
        "time_ns": pa.array(range(now, now + len(new)), pa.int64()),
        "line": pa.array(lines, pa.large_string()),
    })  # fmt: skip


def _ids(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT id FROM lake.book.said").fetchall()}


def fetch(place: Place, root: str) -> int:
    """Append to a project log what the lake has and the log lacks; return how many entries."""
    with engine.connected(place, read_only=True) as connection:
        if not tables.has(connection, "said"):
            return 0
        rows = connection.execute("SELECT id, line FROM lake.book.said ORDER BY time_ns, id").fetchall()
    known = {entry.id for entry in ProjectLog(root).follow()} if rows else set()
    lines = [f"{line}\n".encode("ascii") for id, line in rows if id not in known]
    if lines:
        append(log_of(root), lambda: b"".join(lines))
    return len(lines)
