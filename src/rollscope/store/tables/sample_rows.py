"""The samples of a run, from whatever files they lie in: those of a step, by id, or all; only the columns that are asked for.

A sample that was written about in several files is put together from all of them. Which ones those are is known from the hashed
ids of the sealed sets, so that the usual case (one file says everything) reads that file and no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow, sample_ids
from rollscope.store.folder import Folder
from rollscope.store.numbers import fold
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed import select
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

from . import sql, tables

NO_STEP = -(2**63)
KEYS = ("id", "step", "attempt", "writer", "time_ns", arrow.SEQ, arrow.ESCAPED)


def read(
    folder: Folder,
    columns: Sequence[str] | None = None,
    steps: Sequence[int] | None = None,
    ids: Sequence[str] | None = None,
    only: Sequence[SealedSet] | None = None,
) -> pa.Table:
    """One row per sample, by step and then as sealed. With `only`, of the sealed sets just these are read."""
    wanted = list(
        dict.fromkeys([*KEYS, *(columns if columns is not None else [c.name for c in arrow.fields("samples")])])
    )
    schema = pa.schema([f for f in arrow.schema(arrow.fields("samples")) if f.name in wanted])
    pieces = [
        _of_set(piece, wanted, steps, ids)
        for piece in (folder.sets if only is None else only)
        if _may_hold(piece, steps)
    ]
    pieces += [
        _narrowed(piece, wanted, steps, ids) for tail in folder.tails.values() for piece in tail.tables("samples")
    ]
    rows = fold.join(pieces, schema)
    twice = folder.repeated()
    if len(twice) and steps is not None:
        rows = _completed(folder, rows, schema, wanted, twice)
    if len(twice) and folder.resumed:  # a sample is of the step its attempt last said, sealed or not
        rows = fold.fold_attempts(rows)
    rows = fold.fold(tables.alive(folder, rows), "id") if len(twice) else tables.alive(folder, rows)
    rows = tables.named(rows, folder)
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
    """Samples by condition, in an order, cut; all of it optional."""
    wanted = None if columns is None else tables.known("samples", columns)
    steps = None if step is None else [step]
    ids = None if ids is None else arrow.strings(list(ids))[0].to_pylist()  # as they are stored
    if where or order_by:
        words = set(re.findall(r"\w+", f"{where} {order_by}"))
        named = [column.name for column in arrow.fields("samples") if column.name in words]
        rows = sql.choose(read(folder, named, steps, ids), where, order_by, limit)
        found = rows["id"].to_pylist()
        whole = read(folder, wanted, None, found)
        place = {id: i for i, id in enumerate(found)}
        rows = whole.take(pa.array(np.argsort([place[id] for id in whole["id"].to_pylist()]), pa.int64()))
    else:
        rows = read(folder, wanted, steps, ids)
        rows = rows if limit is None else rows.slice(0, limit)
    return rows.select([*wanted, arrow.ESCAPED]) if wanted is not None else rows


def _may_hold(piece: SealedSet, steps: Sequence[int] | None) -> bool:
    file = piece.files.get("samples.parquet")
    return file is not None and (steps is None or bool(file.groups_of_steps(steps)))


def _of_set(
    piece: SealedSet, columns: Sequence[str], steps: Sequence[int] | None, wanted: Sequence[str] | None
) -> pa.Table:
    big = {column.name for column in arrow.fields("samples", big=True)}
    rows = None if wanted is None else places(piece, sample_ids.hashes(wanted))
    found, numbers = _narrow(piece.files["samples.parquet"], [c for c in columns if c not in big], steps, rows)
    if big & set(columns):
        text = select.rows_of(piece.files["samples.text.parquet"], numbers, [c for c in columns if c in big])
        for column in text.column_names:
            found = found.append_column(column, text[column])
    return found


def _narrow(
    file: SealedFile, columns: Sequence[str], steps: Sequence[int] | None, rows: Ints | None
) -> tuple[pa.Table, Ints]:
    """Rows of some steps, or by number, or all, with their numbers; row groups that do not hold are left out."""
    if steps is None and rows is None and file.is_sound():
        return file.read(columns), np.arange(file.rows)
    groups = (
        file.groups_of_steps(steps)
        if steps is not None
        else range(len(file.groups))
        if rows is None
        else file.groups_of_rows(rows)
    )
    parts, numbers = [], [np.empty(0, np.int64)]
    for group in groups:
        lo, hi = int(file.starts[group]), int(file.starts[group + 1])
        found = file.read(columns, [group])
        if not len(found):
            continue
        keep = np.arange(hi - lo) if rows is None else rows[(rows >= lo) & (rows < hi)] - lo
        if steps is not None:
            keep = np.flatnonzero(np.isin(np.asarray(pc.fill_null(found["step"], NO_STEP)), steps))
        parts.append(found.take(pa.array(keep)))
        numbers.append(keep + lo)
    return (pa.concat_tables(parts) if parts else file.read(columns, [])), np.concatenate(numbers)


def places(piece: SealedSet, hashes: sample_ids.Hashes) -> Ints:
    """The rows of a set that have one of these hashes."""
    index = piece.ids
    known, rows = arrow.numbers(index["hash"]), arrow.numbers(index["row"])
    lo, hi = np.searchsorted(known, hashes, "left"), np.searchsorted(known, hashes, "right")
    return np.sort(
        np.concatenate([np.empty(0, np.int64), *(rows[a:b] for a, b in zip(lo.tolist(), hi.tolist(), strict=True))])
    )


def _narrowed(
    piece: pa.Table, columns: Sequence[str], steps: Sequence[int] | None, wanted: Sequence[str] | None
) -> pa.Table:
    piece = piece.select([name for name in columns if name in piece.column_names])
    if wanted is not None:
        return piece.filter(pc.is_in(piece["id"], pa.array(wanted, pa.large_string())))
    if steps is None:
        return piece
    return (
        piece.filter(pc.is_in(piece["step"], pa.array(steps, pa.int64())))
        if "step" in piece.column_names
        else piece.slice(0, 0)
    )


def _completed(
    folder: Folder, rows: pa.Table, schema: pa.Schema, columns: Sequence[str], twice: sample_ids.Hashes
) -> pa.Table:
    """The rows, with every other row about the same samples."""
    found = rows["id"].to_pylist()
    also = [
        id for id, repeated in zip(found, np.isin(sample_ids.hashes(found), twice).tolist(), strict=True) if repeated
    ]
    if not also:
        return rows
    rest = rows.filter(pc.invert(pc.is_in(rows["id"], pa.array(also, pa.large_string()))))
    pieces = [_of_set(piece, columns, None, also) for piece in folder.sets if "samples.parquet" in piece.files]
    pieces += [
        _narrowed(piece, columns, None, also) for tail in folder.tails.values() for piece in tail.tables("samples")
    ]
    return pa.concat_tables([rest, fold.join(pieces, schema)])


def empty() -> pa.Table:
    return arrow.schema(arrow.fields("samples")).empty_table()


def repeated_ids(folder: Folder) -> list[str]:
    """Samples that more than one row is about."""
    twice = folder.repeated()
    if not len(twice):
        return []
    found = [
        _narrow(piece.files["samples.parquet"], ["id"], None, places(piece, twice))[0]["id"].to_pylist()
        for piece in folder.sets
        if _may_hold(piece, None)
    ]
    for tail in folder.tails.values():
        ids = [id for piece in tail.tables("samples") for id in piece["id"].to_pylist()]
        found.append(
            [id for id, again in zip(ids, np.isin(sample_ids.hashes(ids), twice).tolist(), strict=True) if again]
        )
    return list({id: None for part in found for id in part if id is not None})


def steps_of_repeated(folder: Folder) -> dict[int, int]:
    """Steps that a sample with several rows was said to be of, and how many such rows each has."""
    twice = folder.repeated()
    if not len(twice):
        return {}
    found = [
        _narrow(piece.files["samples.parquet"], ["step"], None, places(piece, twice))[0]
        for piece in folder.sets
        if "samples.parquet" in piece.files
    ]
    for tail in folder.tails.values():
        for piece in tail.tables("samples"):
            if "step" in piece.column_names:
                found.append(
                    piece.filter(pa.array(np.isin(sample_ids.hashes(piece["id"].to_pylist()), twice))).select(["step"])
                )
    steps = np.concatenate([np.asarray(pc.fill_null(part["step"], NO_STEP)) for part in found])
    counts: dict[int, int] = dict(
        zip(*(column.tolist() for column in np.unique(steps[steps != NO_STEP], return_counts=True)), strict=True)
    )
    return counts
