"""The samples of a run, from all its files: those of some steps, by id, or all; with some columns.

A sample that has rows in several files is put together from all of them. The hashed ids of the
sealed sets tell which samples those are, so the usual case (one file has everything) reads no other
file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow, sample_ids
from rollscope.store.folder import Folder
from rollscope.store.live.part import Part
from rollscope.store.live.tail import Tail
from rollscope.store.numbers import fold
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed import select
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

from . import order, sql, tables

NO_STEP = -(2**63)
KEYS = ("id", "step", "attempt", "writer", "time_ns", arrow.SEQ, arrow.ESCAPED)
BIG = {column.name for column in arrow.fields("samples", big=True)}


def read(
    folder: Folder,
    columns: Sequence[str] | None = None,
    steps: Sequence[int] | None = None,
    ids: Sequence[str] | None = None,
    only: Sequence[SealedSet] | None = None,
) -> pa.Table:
    """One row per sample, by step and stored order. With `only`, skip all other sealed sets."""
    names = columns if columns is not None else [c.name for c in arrow.fields("samples")]
    wanted = list(dict.fromkeys([*KEYS, *names]))
    schema = pa.schema([f for f in arrow.schema(arrow.fields("samples")) if f.name in wanted])
    sets = [sealed for sealed in (folder.sets if only is None else only) if _may_have(sealed, steps)]
    rows = _gathered(folder, sets, schema, steps, ids)
    repeated = folder.repeated()
    if len(repeated) and steps is not None:
        rows = _completed(folder, rows, schema, repeated)
    if len(repeated) and folder.resumed:  # the last row of an attempt tells the step of a sample
        rows = fold.fold_attempts(rows)
    rows = tables.alive(folder, rows)
    rows = tables.with_run(fold.fold(rows, "id") if len(repeated) else rows, folder)
    return rows if steps is None else rows.filter(pc.is_in(rows["step"], pa.array(steps, pa.int64())))


def ask(
    folder: Folder,
    where: str | None,
    order_by: str | None,
    limit: int | None,
    columns: Sequence[str] | None,
    step: int | None,
    ids: Sequence[str] | None,
) -> pa.Table:
    """Samples that meet an SQL condition, in an SQL order, at most `limit`; all of it optional."""
    wanted = None if columns is None else tables.known("samples", columns)
    steps = None if step is None else [step]
    stored_ids = None if ids is None else arrow.strings(list(ids))[0].to_pylist()
    if where or order_by:
        rows = _chosen(folder, where, order_by, limit, wanted, steps, stored_ids)
    else:
        rows = read(folder, wanted, steps, stored_ids)
        rows = rows if limit is None else rows.slice(0, limit)
    return rows.select([*wanted, arrow.ESCAPED]) if wanted is not None else rows


def _chosen(
    folder: Folder,
    where: str | None,
    order_by: str | None,
    limit: int | None,
    columns: Sequence[str] | None,
    steps: Sequence[int] | None,
    ids: Sequence[str] | None,
) -> pa.Table:
    """Choose by the columns that the SQL names, then read the chosen samples with all `columns`."""
    words = set(re.findall(r"\w+", f"{where} {order_by}"))
    named = [column.name for column in arrow.fields("samples") if column.name in words]
    among = read(folder, named, steps, ids)
    ordered = order.by_one_column(among, order_by) if order_by and not where else None
    ordered = sql.choose(among, where, order_by, limit) if ordered is None else ordered.slice(0, limit)
    chosen = ordered["id"].to_pylist()
    rows = read(folder, columns, None, chosen)
    position = {id: i for i, id in enumerate(chosen)}
    places = np.argsort([position[id] for id in rows["id"].to_pylist()])
    return rows.take(pa.array(places, pa.int64()))


def _may_have(sealed: SealedSet, steps: Sequence[int] | None) -> bool:
    file = sealed.files.get("samples.parquet")
    return file is not None and (steps is None or bool(file.groups_of_steps(steps)))


def _gathered(
    folder: Folder,
    sets: Sequence[SealedSet],
    schema: pa.Schema,
    steps: Sequence[int] | None,
    ids: Sequence[str] | None,
) -> pa.Table:
    """The rows of some sets and of all live logs, as they are stored."""
    parts = [_of_set(sealed, schema.names, steps, ids) for sealed in sets]
    for tail in folder.tails.values():
        parts += [_of_tail(tail, part, schema.names, steps, ids) for part in tail.parts("samples")]
    return fold.join(parts, schema)


def _of_set(
    sealed: SealedSet, columns: Sequence[str], steps: Sequence[int] | None, ids: Sequence[str] | None
) -> pa.Table:
    numbers = None if ids is None else row_numbers(sealed, sample_ids.hashes(ids))
    narrow = [name for name in columns if name not in BIG]
    rows, numbers = _narrow(sealed.files["samples.parquet"], narrow, steps, numbers)
    if BIG & set(columns):
        big = [name for name in columns if name in BIG]
        text = select.rows_of(sealed.files["samples.text.parquet"], numbers, big)
        for column in text.column_names:
            rows = rows.append_column(column, text[column])
    return rows


def _narrow(
    file: SealedFile, columns: Sequence[str], steps: Sequence[int] | None, numbers: Ints | None
) -> tuple[pa.Table, Ints]:
    """Rows of some steps, or by number, or all; and their numbers."""
    if steps is None and numbers is None and file.is_sound():
        return file.read(columns), np.arange(file.rows)
    parts, read_numbers = [], [np.empty(0, np.int64)]
    for group in _groups(file, steps, numbers):
        lo, hi = int(file.starts[group]), int(file.starts[group + 1])
        rows = file.read(columns, [group])
        if not len(rows):
            continue
        keep = np.arange(hi - lo) if numbers is None else numbers[(numbers >= lo) & (numbers < hi)] - lo
        if steps is not None:
            keep = np.flatnonzero(np.isin(np.asarray(pc.fill_null(rows["step"], NO_STEP)), steps))
        parts.append(rows.take(pa.array(keep)))
        read_numbers.append(keep + lo)
    return (pa.concat_tables(parts) if parts else file.read(columns, [])), np.concatenate(read_numbers)


def _groups(file: SealedFile, steps: Sequence[int] | None, numbers: Ints | None) -> Sequence[int]:
    """Row groups that may have rows of some steps, or rows by number; else all."""
    if steps is not None:
        return file.groups_of_steps(steps)
    return range(len(file.groups)) if numbers is None else file.groups_of_rows(numbers)


def row_numbers(sealed: SealedSet, hashes: sample_ids.Hashes) -> Ints:
    """The numbers of the rows of a set whose ids have one of these hashes."""
    known, numbers = arrow.numbers(sealed.ids["hash"]), arrow.numbers(sealed.ids["row"])
    lo, hi = np.searchsorted(known, hashes, "left"), np.searchsorted(known, hashes, "right")
    parts = [numbers[a:b] for a, b in zip(lo.tolist(), hi.tolist(), strict=True)]
    return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))


def _of_tail(
    tail: Tail, part: Part, columns: Sequence[str], steps: Sequence[int] | None, ids: Sequence[str] | None
) -> pa.Table:
    """Some columns of live rows, of some steps or ids."""
    rows, chosen = part.narrow, None
    if ids is not None:
        chosen = pc.is_in(rows["id"], pa.array(ids, pa.large_string()))
    elif steps is not None and "step" in rows.column_names:
        chosen = pc.is_in(rows["step"], pa.array(steps, pa.int64()))
    elif steps is not None:
        return rows.slice(0, 0)
    return tail.rows(part, columns, None if chosen is None else np.flatnonzero(np.asarray(chosen)))


def _completed(folder: Folder, rows: pa.Table, schema: pa.Schema, repeated: sample_ids.Hashes) -> pa.Table:
    """Add every other row of the same samples."""
    ids = _with_hash(rows["id"].to_pylist(), repeated)
    if not ids:
        return rows
    others = rows.filter(pc.invert(pc.is_in(rows["id"], pa.array(ids, pa.large_string()))))
    sets = [sealed for sealed in folder.sets if _may_have(sealed, None)]
    return pa.concat_tables([others, _gathered(folder, sets, schema, None, ids)])


def _with_hash(ids: list[str], hashes: sample_ids.Hashes) -> list[str]:
    """The ids whose hash is among these."""
    return [ids[i] for i in np.flatnonzero(np.isin(sample_ids.hashes(ids), hashes)).tolist()]


def empty() -> pa.Table:
    return arrow.schema(arrow.fields("samples")).empty_table()


def repeated_ids(folder: Folder) -> list[str]:
    """Ids of samples that have more than one row."""
    ids = [id for rows in _repeated_rows(folder, "id") for id in rows["id"].to_pylist()]
    return list({id: None for id in ids if id is not None})


def steps_of_repeated(folder: Folder) -> dict[int, int]:
    """Step -> how many rows it has of samples that have several rows."""
    parts = [np.asarray(pc.fill_null(rows["step"], NO_STEP)) for rows in _repeated_rows(folder, "step")]
    steps = np.concatenate([np.empty(0, np.int64), *parts])
    values, counts = np.unique(steps[steps != NO_STEP], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _repeated_rows(folder: Folder, column: str) -> list[pa.Table]:
    """One column of the rows of samples that have several rows."""
    repeated = folder.repeated()
    if not len(repeated):
        return []
    parts = []
    for sealed in folder.sets:
        if _may_have(sealed, None):
            numbers = row_numbers(sealed, repeated)
            parts.append(_narrow(sealed.files["samples.parquet"], [column], None, numbers)[0])
    for tail in folder.tails.values():
        for rows in tail.tables("samples"):
            if column in rows.column_names:
                keep = np.isin(sample_ids.hashes(rows["id"].to_pylist()), repeated)
                parts.append(rows.filter(pa.array(keep)).select([column]))
    return parts
