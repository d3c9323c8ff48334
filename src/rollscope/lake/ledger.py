"""What the lake holds of a run, read from its book; and the transaction that ships more of it.

A ship has a number. Whoever commits number n has seen that n - 1 was the last one, and nobody else
can commit to the run between that look and the commit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import engine, tables
from .place import Place
from .spool import Held, Object, held

if TYPE_CHECKING:
    import duckdb

PARTS_OF_A_SHIP = 100_000
Ranges = list[tuple[str, int, int]]  # stem of a log, and which of its bytes: from, to


@dataclass(slots=True)
class State:
    """What the lake holds of one run."""

    ship: int = 0  # the number of the last one
    project: str = ""
    origin: str = ""
    files: Held = field(default_factory=dict)
    parts: dict[int, Ranges] = field(default_factory=dict)  # that count, with the bytes of logs they cover
    resumed: dict[int, int] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)  # the row of the runs table
    gone: set[str] = field(default_factory=set)  # files that the run had, and has no more
    let_go: set[str] = field(default_factory=set)  # text or tokens, if a rule let go of them


@dataclass(slots=True)
class Ship:
    """What one transaction adds."""

    objects: list[Object] = field(default_factory=list)
    parts: dict[int, Ranges] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    resumed: dict[int, int] | None = None  # None: as before
    replaced: list[tuple[str, int]] = field(default_factory=list)  # id of a sample, part
    rows: dict[str, list[pa.Table]] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)  # the row of the runs table; empty: as before

    def is_empty(self) -> bool:
        return not (self.objects or self.parts or self.rows or self.resumed is not None)


class Behind(Exception):
    """Somebody else has shipped more of this run: look again, and plan again."""


def read(place: Place, run: str) -> State:
    with engine.connected(place, read_only=True) as connection:
        return _read(connection, run)


def read_some(place: Place, runs: Sequence[str]) -> dict[str, State]:
    """The same of several runs, by one connection."""
    with engine.connected(place, read_only=True) as connection:
        return {run: _read(connection, run) for run in runs}


def _read(connection: duckdb.DuckDBPyConnection, run: str) -> State:
    ships = connection.execute(
        "SELECT ship, project, origin FROM lake.book.ships WHERE run = ? ORDER BY ship DESC LIMIT 1", [run]
    ).fetchall()
    if not ships:
        return State()
    found = connection.execute(
        "SELECT name, kind, start, bytes, sha256, key, time_ns FROM lake.book.objects WHERE run = ?"
        " ORDER BY ship, kind = 'gone' DESC, name, start",
        [run],
    ).fetchall()
    (ship, project, origin) = ships[0]
    state = State(ship, project, origin, held([Object(*row) for row in found]))
    state.gone = {row[0] for row in found} - state.files.keys()
    for part, stem, lo, hi in connection.execute(
        "SELECT part, stem, lo, hi FROM lake.book.parts ANTI JOIN lake.book.dropped USING (run, part) WHERE run = ?",
        [run],
    ).fetchall():
        state.parts.setdefault(part, []).append((stem, lo, hi))
    state.resumed = dict(
        connection.execute(
            "SELECT attempt, first FROM lake.book.resumed WHERE run = ? QUALIFY part = max(part) OVER ()", [run]
        ).fetchall()
    )
    if tables.has(connection, "let_go"):
        found = connection.execute("SELECT what FROM lake.book.let_go WHERE run = ?", [run]).fetchall()
        state.let_go = {row[0] for row in found}
    rows = connection.execute("SELECT * FROM lake.main.runs WHERE id = ?", [run])
    names = [column[0] for column in rows.description or []]
    state.record = next((dict(zip(names, row, strict=True)) for row in rows.fetchall()), {})
    return state


def commit(place: Place, run: str, state: State, project: str, origin: str, ship: Ship) -> None:
    """Ship in one transaction. Raises Behind if the lake has more of the run than `state` says."""
    import duckdb

    try:
        _commit(place, run, state, project, origin, ship)
    except duckdb.TransactionException:  # a tidy or a deletion was faster: it changes the same tables
        raise Behind from None


def _commit(place: Place, run: str, state: State, project: str, origin: str, ship: Ship) -> None:
    number = state.ship + 1
    with engine.exclusively(place, run), engine.connected(place) as connection:
        tables.check_version(connection, place.folder)
        tables.upgrade(connection)
        connection.execute("BEGIN")
        last = connection.execute("SELECT max(ship) FROM lake.book.ships WHERE run = ?", [run]).fetchall()[0][0]
        if (last or 0) != state.ship:
            raise Behind
        for table, rows in _book(run, project, origin, number, ship).items():
            if len(rows):
                _insert(connection, f"book.{table}", rows)
        for table, parts in ship.rows.items():
            _insert(connection, f"rows.{table}", pa.concat_tables(parts))
        connection.execute("COMMIT")


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.register("shipped rows", rows)
    names = ", ".join(f'"{name}"' for name in rows.column_names)
    connection.execute(f'INSERT INTO lake.{table} ({names}) SELECT {names} FROM "shipped rows"')
    connection.unregister("shipped rows")


def _book(run: str, project: str, origin: str, number: int, ship: Ship) -> dict[str, pa.Table]:
    first = number * PARTS_OF_A_SHIP
    texts, whole = pa.large_string(), pa.int64()
    object_names = ("name", "kind", "start", "bytes", "sha256", "key", "time_ns")
    object_types = (texts, texts, whole, whole, texts, texts, whole)
    columns: dict[str, tuple[tuple[str, ...], tuple[Any, ...], list[tuple[Any, ...]]]] = {
        "ships": (("ship", "origin", "time_ns"), (whole, texts, whole), [(number, origin, time.time_ns())]),
        "objects": (
            ("ship", *object_names),
            (whole, *object_types),
            [(number, *astuple(object)) for object in ship.objects],
        ),
        "parts": (("part", "stem", "lo", "hi"), (whole, texts, whole, whole), _flat(ship.parts)),
        "dropped": (("part",), (whole,), [(part,) for part in sorted(ship.dropped)]),
        "resumed": (
            ("part", "attempt", "first"),
            (whole,) * 3,
            [(first, *pair) for pair in (ship.resumed or {}).items()],
        ),
        "replaced": (("id", "part"), (texts, whole), list(ship.replaced)),
    }
    return {name: _table(project, run, *said) for name, said in columns.items()}


def _flat(parts: Mapping[int, Ranges]) -> list[tuple[Any, ...]]:
    """A row for each stretch of a part."""
    return [(part, stem, lo, hi) for part, ranges in parts.items() for stem, lo, hi in ranges]


def _table(
    project: str, run: str, names: tuple[str, ...], types: tuple[Any, ...], rows: list[tuple[Any, ...]]
) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = [pa.array(list(column), type_) for column, type_ in zip(columns, types, strict=True)]
    constant = [pa.array([text] * len(rows), pa.large_string()) for text in (project, run)]
    return pa.table([*constant, *arrays], names=["project", "run", *names])


def added(state: State, project: str, origin: str, ship: Ship) -> State:
    """The state after a ship."""
    parts = {part: ranges for part, ranges in {**state.parts, **ship.parts}.items() if part not in ship.dropped}
    earlier = [object for objects in state.files.values() for object in objects]
    files = held([*earlier, *sorted(ship.objects, key=lambda object: object.kind != "gone")])
    resumed = state.resumed if ship.resumed is None else ship.resumed
    record = ship.record or state.record
    return State(state.ship + 1, project, origin, files, parts, resumed, record, let_go=state.let_go)
