"""Let go of text and tokens by rule: really deleted, and said. Numbers stay for ever.

    [retain]                     # in lake.toml
    text_days = 90               # prompts, completions, messages, turns
    tokens_days = 14             # token ids, log-probabilities and other arrays of tokens
    unless_tagged = ["keep"]     # runs with one of these tags keep everything

Samples that people starred, labelled, commented or put into a set keep everything, too. Days count
from the end of a run. Each set of the run is written again without these columns and says so; the
old objects, the rows of the tables, and the older states that held them are deleted.
Each step can be repeated, so one that was killed is finished by the next.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.errors import BadInput, MachineBusy
from rollscope.lake.cache import bringing, mirror
from rollscope.lake.shipping.push import Pusher
from rollscope.store import arrow, regular_file
from rollscope.store.project.sample_marks import sample_marks
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS, TURN_TEXT_COLUMNS
from rollscope.store.seal.let_go import SAMPLE, let_go

from . import engine, ledger, tables, tidy
from .objects import Objects
from .place import NAME, Place
from .reading import LakeStore

if TYPE_CHECKING:
    import duckdb

DAY_NS = 86_400 * 10**9
COLUMNS = {"text": TEXT_COLUMNS | TURN_TEXT_COLUMNS, "tokens": TOKEN_COLUMNS}
KEPT = ("keep",)  # tags of runs that keep everything, unless lake.toml names others
TRIES = 20  # while others ship


@dataclass(frozen=True, slots=True)
class Rules:
    """How many days what is kept; what is not there is kept for ever."""

    days: dict[str, float]
    unless_tagged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """What a run has to let go of."""

    run: str
    project: str
    what: tuple[str, ...]
    ended_ns: int


def rules(place: Place) -> Rules:
    """The rules of `lake.toml`."""
    said = regular_file.read_toml(os.path.join(place.folder, NAME)).get("retain", {})
    if not isinstance(said, dict):
        raise BadInput(f"retain = {said!r} in lake.toml is no table: write [retain], and the days under it")
    known = {f"{what}_days": what for what in COLUMNS}
    for key in set(said) - known.keys() - {"unless_tagged"}:
        raise BadInput(f"[retain] of lake.toml has {key!r}; it knows {', '.join([*known, 'unless_tagged'])}")
    for key in known.keys() & said.keys():
        if isinstance(said[key], bool) or not isinstance(said[key], int | float) or said[key] < 0:
            raise BadInput(f"{key} = {said[key]!r} in lake.toml is no number of days")
    tags = said.get("unless_tagged", list(KEPT))
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise BadInput(f"unless_tagged = {tags!r} in lake.toml is no list of tags")
    return Rules({what: float(said[key]) for key, what in known.items() if key in said}, tuple(tags))


def due(place: Place, now_ns: int | None = None) -> list[Due]:
    """The runs that have to let go of something now, the oldest first."""
    wanted, now = rules(place), time.time_ns() if now_ns is None else now_ns
    if not wanted.days:
        return []
    gone = _let_go(place)
    found = []
    for row in LakeStore(place).newest():
        ended = row["ended_ns"] or 0
        old = [what for what, days in wanted.days.items() if now - ended > days * DAY_NS]
        what = tuple(one for one in old if (row["id"], one) not in gone)
        if what and row["state"] != "running" and not set(row["tags"] or ()) & set(wanted.unless_tagged):
            found.append(Due(row["id"], row["project"] or "", what, ended))
    return sorted(found, key=lambda one: one.ended_ns)


def _let_go(place: Place) -> set[tuple[str, str]]:
    """What was let go before: run, and what."""
    with engine.connected(place, read_only=True) as connection:
        if not tables.has(connection, "let_go"):
            return set()
        return set(connection.execute("SELECT run, what FROM lake.book.let_go").fetchall())


def retain(place: Place, one: Due) -> int:
    """Let go of what is due of a run; return how many bytes of objects were removed."""
    columns = {column for what in one.what for column in COLUMNS[what]}
    kept = list(sample_marks(LakeStore(place).project, one.run))
    with tempfile.TemporaryDirectory(prefix="rollscope-retain-") as aside:
        folder = os.path.join(aside, one.run)
        _fetch(place, one.run, folder)
        let_go(folder, columns, dict.fromkeys(one.what, time.time_ns()), kept)
        Pusher(place, folder).push()
    _change_rows(place, one, columns, pa.table({"id": arrow.strings(kept)[0]}))
    return _remove_objects(place, one.run)


def _fetch(place: Place, run: str, folder: str) -> None:
    """Every file of a run, whole."""
    objects, held = Objects(place), ledger.read(place, run)
    mirror.refresh(objects, folder, held.files, held.gone)
    for path in Path(folder).glob("*/" + bringing.LIST):
        for name, part in bringing.listed(str(path.parent)).items():
            bringing.fetch_to(objects, str(path.parent / name), part)
        path.unlink()


def _change_rows(place: Place, one: Due, columns: set[str], kept: pa.Table) -> None:
    """Empty the columns in the tables, and say so; again if somebody else's commit was first.

    `kept` are ids of samples as they are stored.
    """
    import duckdb

    with engine.exclusively(place, one.run) as connection:
        tables.upgrade(connection)
        for _ in range(TRIES):
            try:
                _in_one_transaction(connection, one, columns, kept)
                tidy.forget(connection, 0)
                return
            except duckdb.TransactionException:
                continue
    raise MachineBusy(f"others ship to the lake all the time, so {one.run!r} has to wait: try again in a moment")


def _in_one_transaction(connection: duckdb.DuckDBPyConnection, one: Due, columns: set[str], kept: pa.Table) -> None:
    connection.execute("BEGIN")
    connection.register("kept samples", kept)
    for table, sample in SAMPLE.items():
        here = sorted(columns & tables.row_columns(table).keys())
        if here:
            empty = ", ".join(f'"{name}" = NULL' for name in here)
            whose = f'run = ? AND NOT EXISTS (FROM "kept samples" k WHERE k.id = x.{sample})'
            connection.execute(f"UPDATE lake.rows.{table} x SET {empty} WHERE {whose}", [one.run])
    for what in one.what:
        row: list[Any] = [one.project, one.run, what, time.time_ns()]
        connection.execute("INSERT INTO lake.book.let_go VALUES (?, ?, ?, ?)", row)
    connection.execute("COMMIT")
    connection.unregister("kept samples")


def _remove_objects(place: Place, run: str) -> int:
    """Remove the objects of a run that its files are not made of any more."""
    objects, removed = Objects(place), 0
    held = ledger.read(place, run)
    needed = {part.key for parts in held.files.values() for part in parts}
    prefixes = {"/".join(key.split("/")[:3]) for key in needed}
    for prefix in prefixes:
        for key, (size, _) in objects.keys(prefix).items():
            if key not in needed:
                objects.delete(key)
                removed += size
    return removed
