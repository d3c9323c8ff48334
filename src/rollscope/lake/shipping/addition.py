"""Add rows to a run of a lake that were made from the lake itself, such as those of a scan.

They are a log of their own, which the folder that the run is pushed from never had.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.errors import CannotWrite, NotFound
from rollscope.lake import ledger, spool
from rollscope.lake.ledger import PARTS_OF_A_SHIP, Behind, Order, Ship, State
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.store.log import files
from rollscope.store.notes import write_rows

from . import parts

TRIES = 20  # while others ship the same run


def add_rows(place: Place, run: str, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Ship rows of a table to a run, in one transaction."""
    with tempfile.TemporaryDirectory(prefix="rollscope-rows-") as aside:
        folder = os.path.join(aside, run)
        os.mkdir(folder)
        write_rows(folder, table, rows)
        add_logs(place, run, folder, files.listed(folder))


def add_logs(place: Place, run: str, folder: str, names: Sequence[str]) -> None:
    """Ship closed logs of a folder to a run, in one transaction."""
    for _ in range(TRIES):
        try:
            return _ship(place, run, folder, names)
        except Behind:
            continue
    raise CannotWrite(f"others ship the run {run!r} all the time: try again in a moment")


def _ship(place: Place, run: str, folder: str, names: Sequence[str]) -> None:
    state = ledger.read(place, run)
    if not state.ship:
        raise NotFound(f"the lake {place.folder!r} has no run {run[:80]!r}. List its runs: rollscope ls --dir LAKE")
    ship = _loaded(place, run, folder, names, state)
    ledger.commit(place, Order(run, state, state.project, state.origin, ship))


def _loaded(place: Place, run: str, folder: str, names: Sequence[str], state: State) -> Ship:
    """Logs of a folder as a ship, their objects stored."""
    ship, objects = Ship(), Objects(place)
    for number, name in enumerate(names, (state.ship + 1) * PARTS_OF_A_SHIP + 1):
        part = parts.of_log(folder, name, 0)
        if part is None:  # nothing was written
            continue
        ship.parts[number] = part.ranges
        for table, rows in part.tables.items():
            ship.rows.setdefault(table, []).append(parts.numbered(rows, table, state.project, run, number))
    for object, stretch in spool.missing(folder, names, {}, spool.prefix_of(state.project, run)):
        objects.put(object.key, stretch)
        ship.objects.append(spool.added(object))
    return ship
