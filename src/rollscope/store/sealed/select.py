"""Select the sealed sets of a run that count, and join narrow and big columns of a table."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from rollscope.errors import CorruptFile
from rollscope.store import arrow
from rollscope.store.numbers.rows import Ints, Words

from . import manifest
from .file import SealedFile
from .reader import SealedSet


def listed(run: str) -> list[str]:
    """Paths of the sets in a run's folder, in order."""
    entries = (entry for entry in os.scandir(run) if entry.name.endswith(manifest.SUFFIX))
    return sorted(entry.path for entry in entries if not entry.name.startswith(".") and os.path.isdir(entry.path))


def accepted(
    paths: Sequence[str], words: Words, open_set: Callable[[str], SealedSet] | None = None
) -> tuple[list[SealedSet], list[SealedSet]]:
    """Return the sets to read, and the sets whose logs those already contain.

    A set whose manifest is lost is in neither list; `Folder.damage` reports it.
    """
    sets = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError, CorruptFile):  # or merged and removed meanwhile
            sets.append(open_set(path) if open_set else SealedSet(path, words))
    sets.sort(key=lambda sealed: (-len(sealed.sources), sealed.path))
    taken: set[str] = set()
    read: list[SealedSet] = []
    spare: list[SealedSet] = []
    for sealed in sets:
        (spare if taken & sealed.sources.keys() else read).append(sealed)
        taken |= sealed.sources.keys()
    return read, spare


def let_go_of(sets: Sequence[SealedSet]) -> dict[str, int]:
    """What some sets had and were told to let go of, `text` or `tokens`, and when."""
    return {what: time_ns for sealed in sets for what, time_ns in sealed.facts.get("let_go", {}).items()}


def full_table(sealed: SealedSet, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a table but those of row groups that fail their checksum.

    Columns other than `columns` are null.
    """
    narrow = sealed.files[f"{name}.parquet"]
    groups = narrow.passing()
    rows = narrow.read(columns, groups)
    if columns is not None and not {column.name for column in arrow.fields(name, big=True)} & set(columns):
        return arrow.conformed(rows, arrow.fields(name))
    return _with_big(rows, sealed, name, narrow.row_numbers(groups))


def some_rows(sealed: SealedSet, name: str, numbers: Ints) -> pa.Table:
    """All columns of some rows, given by number, ascending."""
    return _with_big(rows_of(sealed.files[f"{name}.parquet"], numbers, None), sealed, name, numbers)


def _with_big(narrow: pa.Table, sealed: SealedSet, table: str, numbers: Ints) -> pa.Table:
    """Add the big columns of the same rows, which lie in a file of their own."""
    text = sealed.files.get(f"{table}.text.parquet")
    if text is not None:
        big = rows_of(text, numbers, [column.name for column in arrow.fields(table, big=True)])
        for name in big.column_names:
            narrow = narrow.append_column(name, big[name])
    return arrow.conformed(narrow, arrow.fields(table))


def rows_of(file: SealedFile, rows: Ints, columns: Sequence[str] | None) -> pa.Table:
    """Rows by number, ascending. Rows of a row group that fails its checksum are null."""
    if len(rows) == file.rows and file.is_sound():
        return file.read(columns)
    parts = [] if len(rows) else [file.read(columns, [])]
    for group in file.groups_of_rows(rows):
        lo, hi = int(file.starts[group]), int(file.starts[group + 1])
        here = rows[(rows >= lo) & (rows < hi)] - lo
        table = file.read(columns, [group])
        if len(table) and (np.diff(here) == 1).all():  # side by side: nothing to copy
            parts.append(table.slice(int(here[0]), len(here)))
            continue
        lost = np.full(len(here), not len(table))
        parts.append(table.take(pa.array(np.where(lost, 0, here), mask=lost)))
    return pa.concat_tables(parts)
