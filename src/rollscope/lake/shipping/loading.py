"""Prepare one ship: the parts, the facts and the objects that it adds to what the lake holds."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa

from rollscope.lake import spool
from rollscope.lake.ledger import PARTS_OF_A_SHIP, Ship, State
from rollscope.lake.objects import Stretch
from rollscope.lake.spool import Object
from rollscope.store import arrow, state
from rollscope.store.folder import Folder
from rollscope.store.schema import TABLES
from rollscope.store.sealed.reader import SealedSet
from rollscope.store.tables.sql_views import escaped

from . import parts
from .parts import Part


class Loading:
    """A ship that is being prepared from a run's folder and from what the lake holds of it."""

    def __init__(self, folder: Folder, held: State, project: str) -> None:
        self.ship = Ship()
        self._folder, self._held, self._project = folder, held, project
        self._names: list[str] = []  # files whose objects belong to this ship

    def add_set(self, sealed: SealedSet) -> None:
        """Everything of a sealed set."""
        self.ship.dropped |= parts.loose_parts(self._held.parts)
        self._add(parts.of_set(sealed))
        folder = os.path.basename(sealed.path)
        self._names = [name for name in spool.names(self._folder.path) if os.path.dirname(name) == folder]

    def add_growth(self) -> None:
        """Everything else: what logs have grown, the facts of the run, and what is gone."""
        for part in parts.of_logs(self._folder.path, self._folder, self._held.parts):
            self._add(part)
        self._add_record()
        self._add_attempts()
        self.ship.objects += spool.gone(self._folder.path, self._held.files)
        self._names = spool.names(self._folder.path)

    def objects(self) -> Iterator[tuple[Object, Stretch]]:
        """The objects that the lake lacks, with their bytes."""
        prefix = spool.prefix_of(self._project, self._folder.name)
        return spool.missing(self._folder.path, self._names, self._held.files, prefix)

    def _first(self) -> int:
        return (self._held.ship + 1) * PARTS_OF_A_SHIP

    def _next(self) -> int:
        return self._first() + len(self.ship.parts) + 1

    def _add(self, part: Part) -> None:
        self.ship.dropped |= parts.overlapping(self._held.parts, part.ranges)
        self._add_rows(*parts.complete(self._folder, part))

    def _add_rows(self, part: Part, replaced: list[str]) -> None:
        number = self._next()
        for table, rows in part.tables.items():
            if len(rows):
                numbered = parts.numbered(rows, table, self._project, self._folder.name, number)
                self.ship.rows.setdefault(table, []).append(numbered)
        self.ship.replaced += [(id, number) for id in replaced]
        self.ship.parts[number] = part.ranges

    def _add_record(self) -> None:
        """The row of the runs table, if it differs."""
        row = escaped(state.row(self._folder))
        record = {column.name: row[column.name] for column in TABLES["runs"]} | {"project": self._project}
        if record != {name: self._held.record.get(name) for name in record}:
            rows = pa.Table.from_pylist([row], arrow.schema(TABLES["runs"]))
            number = self._first()  # of no part: what drops a part must not drop the record
            numbered = parts.numbered(rows, "runs", self._project, self._folder.name, number)
            self.ship.rows["runs"], self.ship.record = [numbered], record

    def _add_attempts(self) -> None:
        """Which steps an attempt owns, if that differs, and the samples that depend on it."""
        loose = parts.loose_parts(self._held.parts)
        if self._folder.resumed != self._held.resumed:
            self.ship.resumed = dict(self._folder.resumed)
        if self._folder.resumed and (self.ship.resumed is not None or not loose):
            self.ship.dropped |= loose
            self._add_rows(*parts.loose(self._folder))
