"""What the lake holds of a run, read from its book; and the transaction that ships more of it.

A ship has a number. Whoever commits number n has seen that n - 1 was the last one, and nobody else
can commit to the run between that look and the commit.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.store.arrow import THREADS
from rollscope.store.schema import TABLES

from . import engine, tables
from .place import Place
from .spool import Held, Object, held

if TYPE_CHECKING:
    import duckdb

PARTS_OF_A_SHIP = 100_000
OBJECT = ("name", "kind", "start", "bytes", "sha256", "key", "time_ns")  # columns
IN_ORDER = "ship, kind = 'gone' DESC, name, start"  # as files were made of objects
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
    recorder: str = ""  # the name of the token that shipped it first, through a server


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
    by: str = ""  # the name of the token that ships it, through a server

    def is_empty(self) -> bool:
        return not (self.objects or self.parts or self.rows or self.resumed is not None)


class Behind(Exception):
    """Somebody else has shipped more of this run: look again, and plan again."""


def read(place: Place, run: str, projects: Collection[str] | None = None) -> State:
    """What the lake holds of a run; with `projects`, only if it is of one of them.

    A run of another project costs the same question as one that is not there.
    """
    with engine.connected(place, read_only=True) as connection:
        return _read(connection, run, projects)


def objects_since(place: Place, after: Mapping[str, int]) -> dict[str, list[Object]]:
    """The objects of several runs that were shipped after a ship, in the order of `held`."""
    query = (
        f"SELECT run, ship, {', '.join(OBJECT)} FROM lake.book.objects"
        f" WHERE run IN ({', '.join('?' * len(after))}) AND ship > ? ORDER BY {IN_ORDER}"
    )
    found: dict[str, list[Object]] = {run: [] for run in after}
    with engine.connected(place, read_only=True) as connection:
        for run, ship, *row in connection.execute(query, [*after, min(after.values())]).fetchall():
            if ship > after[run]:
                found[run].append(Object(*row))
    return found


def _read(connection: duckdb.DuckDBPyConnection, run: str, projects: Collection[str] | None) -> State:
    ships = connection.execute(
        "SELECT ship, project, origin FROM lake.book.ships WHERE run = ? ORDER BY ship DESC LIMIT 1", [run]
    ).fetchall()
    if not ships or (projects is not None and ships[0][1] not in projects):
        return State()
    found = connection.execute(
        f"SELECT {', '.join(OBJECT)} FROM lake.book.objects WHERE run = ? ORDER BY {IN_ORDER}", [run]
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
    if tables.has(connection, "recorders"):
        found = connection.execute("SELECT name FROM lake.book.recorders WHERE run = ?", [run]).fetchall()
        state.recorder = found[0][0] if found else ""
    state.record = _record(connection, run)
    return state


def _record(connection: duckdb.DuckDBPyConnection, run: str) -> dict[str, Any]:
    """The row of a run that counts. The view of all runs would open the files of the others."""
    rows = connection.execute(
        "SELECT x.* FROM lake.rows.runs x ANTI JOIN lake.book.dropped d ON d.run = x.run AND d.part = x.part"
        " WHERE x.run = ? ORDER BY x.part DESC LIMIT 1",
        [run],
    )
    names, known = [column[0] for column in rows.description or []], {column.name for column in TABLES["runs"]}
    found = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
    return {name: value for row in found for name, value in row.items() if name in known}


@dataclass(frozen=True, slots=True)
class Order:
    """What one run ships, and what its shipper knows of the lake."""

    run: str
    state: State
    project: str
    origin: str
    ship: Ship


def commit(place: Place, order: Order) -> None:
    """Ship in one transaction. Raises Behind if the lake has more of the run than we know."""
    with _as_behind(), engine.exclusively(place, order.run) as connection:
        if not _committed(connection, place, [order]):
            raise Behind


def commit_all(place: Place, orders: Sequence[Order]) -> set[str]:
    """Ship several runs in one transaction; return those that were shipped.

    The lake has more of the others, or somebody ships them now.
    """
    with _as_behind(), engine.exclusively_some(place, [order.run for order in orders]) as (connection, taken):
        return _committed(connection, place, [order for order in orders if order.run in taken])


@contextlib.contextmanager
def _as_behind() -> Iterator[None]:
    """A tidy or a deletion was faster: it changes the same tables."""
    import duckdb

    try:
        yield
    except duckdb.TransactionException:
        raise Behind from None


def _committed(connection: duckdb.DuckDBPyConnection, place: Place, orders: Sequence[Order]) -> set[str]:
    connection.execute("SET threads = 1")  # ships are small: a second thread costs more than it helps
    tables.check_version(connection, place.folder)
    tables.upgrade(connection)
    connection.execute("BEGIN")
    last = _last(connection, [order.run for order in orders])
    good = [order for order in orders if last.get(order.run, 0) == order.state.ship]
    for table, rows in _rows(good).items():
        _insert(connection, table, rows)
    connection.execute("COMMIT" if good else "ROLLBACK")
    connection.execute(f"SET threads = {THREADS}")
    return {order.run for order in good}


def _last(connection: duckdb.DuckDBPyConnection, runs: list[str]) -> dict[str, int]:
    """The number of each run's last ship."""
    query = "SELECT run, max(ship) FROM lake.book.ships WHERE list_contains(?, run) GROUP BY run"
    return dict(connection.execute(query, [runs]).fetchall())


def _rows(orders: Sequence[Order]) -> dict[str, pa.Table]:
    """The rows that each table gets."""
    found: dict[str, list[pa.Table]] = {}
    for order in orders:
        for table, rows in _book(order).items():
            found.setdefault(f"book.{table}", []).extend([rows] if len(rows) else [])
        for table, parts in order.ship.rows.items():
            found.setdefault(f"rows.{table}", []).extend(parts)
    return {table: pa.concat_tables(parts) for table, parts in found.items() if parts}


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.register("shipped rows", rows)
    names = ", ".join(f'"{name}"' for name in rows.column_names)
    connection.execute(f'INSERT INTO lake.{table} ({names}) SELECT {names} FROM "shipped rows"')
    connection.unregister("shipped rows")


def _book(order: Order) -> dict[str, pa.Table]:
    ship, number = order.ship, order.state.ship + 1
    first = number * PARTS_OF_A_SHIP
    texts, whole = pa.large_string(), pa.int64()
    object_types = (texts, texts, whole, whole, texts, texts, whole)
    columns: dict[str, tuple[tuple[str, ...], tuple[Any, ...], list[tuple[Any, ...]]]] = {
        "ships": (("ship", "origin", "time_ns"), (whole, texts, whole), [(number, order.origin, time.time_ns())]),
        "objects": (
            ("ship", *OBJECT),
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
        "recorders": (("name",), (texts,), [(ship.by,)] if ship.by and number == 1 else []),
    }
    return {name: _table(order.project, order.run, *said) for name, said in columns.items()}


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
    recorder = state.recorder if state.ship else ship.by
    return State(state.ship + 1, project, origin, files, parts, resumed, record, let_go=state.let_go, recorder=recorder)
