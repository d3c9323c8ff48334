"""The runs of a lake, as the store shows the runs of a folder.

Lists and SQL come from the tables of the lake. A run that is opened gets a folder in the cache, and
each of its files is fetched when it is first read.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.errors import BadInput
from rollscope.store.listing.entries import NEVER_RUNS, Entry
from rollscope.store.listing.records import LARGE
from rollscope.store.project.entry import Entry as ProjectEntry
from rollscope.store.project.log import ProjectLog
from rollscope.store.run import Run
from rollscope.store.schema import TABLES
from rollscope.store.state import JSON, SILENT_SECONDS, Record
from rollscope.store.store import Store
from rollscope.store.tables import sql
from rollscope.views import run as views_run

from . import engine, ledger, said, tables
from .cache import mirror
from .objects import Objects
from .place import Place
from .shipping import addition

if TYPE_CHECKING:
    import duckdb

_OURS = re.compile(r"\b(ducklake|postgres)_\w+\s*\(|\bmetric\s*\(", re.IGNORECASE)
READ_ONLY = "a lake is only read: do it in the folder where the run was recorded"
FRESH_SECONDS = 1.0  # a run that is looked at again within this time is not compared with the lake


class LakeStore(Store):
    """The runs of a lake. `path` is the cache, where runs that were opened lie."""

    def __init__(self, place: Place) -> None:
        cache = mirror.prepare(place)
        super().__init__(cache, views_run.partials, views_run.CatalogNames(), views_run.CatalogRun, views_run.derived)
        self.place = place
        self._objects = Objects(place)
        self._looked_at: dict[str, float] = {}

    def check_writable(self) -> None:
        raise BadInput(READ_ONLY)

    def add_rows(self, run: Run, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Ship rows that were made from the lake, such as those of a scan."""
        addition.add_rows(self.place, run.id, table, rows)
        self._looked_at.pop(run.id, None)

    def entries(self) -> list[Entry]:
        return [Entry(record["id"], os.path.join(self.path, record["id"])) for record in self._rows()]

    def runs(self) -> list[Record]:
        return self._marked(self._rows())

    def newest(self, most: int | None = None, project: str | None = None) -> list[Record]:
        rows = [row for row in self._rows() if project in (None, row["project"])][:most]
        return self._marked([{name: value for name, value in row.items() if name not in LARGE} for row in rows])

    def entry(self, id: str) -> Entry | None:
        self._fetch(id)
        return super().entry(id)

    def read(self, id: str) -> Run:
        self._fetch(id)
        return super().read(id)

    def _is_one_run(self) -> bool:
        return False

    @cached_property
    def project(self) -> ProjectLog:
        """What people say about these runs, as the lake has it now; a lake is only read."""
        said.fetch(self.place, self.path)
        return _ReadOnlyLog(self.path)

    def _fetch(self, id: str) -> None:
        """Bring a run into the cache, or what is new of it. One that was deleted leaves it."""
        if time.monotonic() - self._looked_at.get(id, -FRESH_SECONDS) < FRESH_SECONDS:
            return
        if os.path.basename(id) != id or id in ("", os.curdir, os.pardir, *NEVER_RUNS):
            return
        held, folder = ledger.read(self.place, id), os.path.join(self.path, id)
        mirror.refresh(self._objects, folder, held.files, held.gone) if held.ship else mirror.remove(folder)
        self._looked_at[id] = time.monotonic()

    def _rows(self) -> list[dict[str, Any]]:
        """The record of each run, newest first."""
        lake = engine.connected(self.place, read_only=True)
        with lake as connection, engine.waiting(connection, self.place):
            tables.check_version(connection, self.place.folder)
            rows: list[dict[str, Any]] = arrow_table(
                connection, "SELECT * FROM lake.main.runs ORDER BY started_ns DESC, id"
            ).to_pylist()
        for row in rows:
            row |= {name: json.loads(row[name]) for name in JSON if isinstance(row[name], str)}
            if row["state"] == "running" and time.time() - (row["ended_ns"] or 0) / 1e9 > SILENT_SECONDS:
                row["state"] = "killed"
        return rows

    def sql(self, query: str, parameters: Any = None, as_arrow: bool = False, seconds: float = sql.SECONDS) -> Any:
        """Answer a query over the tables of the lake; the column `run` tells runs apart."""
        if found := _OURS.search(query):
            raise BadInput(
                f"{found[0].rstrip('( ')}(...) cannot be asked of a whole lake."
                " Ask it of one run: rollscope sql --run RUN, or run.sql(...)."
            )
        with engine.of_its_own(self.place, read_only=True) as connection:
            tables.check_version(connection, self.place.folder)
            for name in TABLES:
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM lake.main.{name}")
            _lock(connection, self.place)
            rows = sql.ask(connection, query, parameters, seconds)
        return rows if as_arrow else sql.columns(rows)


def arrow_table(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    return sql.in_batches(connection.sql(query)).read_all()


def _lock(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Restrict a connection to the files of the lake's tables."""
    connection.execute(f"SET allowed_directories = [{sql.quoted(place.data_path() + '/tables')}]")
    sql.lock(connection)


class _ReadOnlyLog(ProjectLog):
    """The project log of a lake: it is written by pushes and by servers."""

    def _write(self, made: list[ProjectEntry], after: str | None) -> None:
        raise BadInput(READ_ONLY)
