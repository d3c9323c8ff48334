"""Which sealed sets of a run count, and a table of one of them as it was before it was parted into files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from rollscope.errors import CorruptFile
from rollscope.store import arrow
from rollscope.store.numbers.rows import Ints, Words
from rollscope.store.schema import Column

from . import manifest
from .reader import File, Sealed


def listed(run: str) -> list[str]:
    named = (
        entry.path
        for entry in os.scandir(run)
        if entry.name.endswith(manifest.SUFFIX) and not entry.name.startswith(".")
    )
    return sorted(path for path in named if os.path.isdir(path))


def accepted(
    paths: Sequence[str], words: Words, opened: Callable[[str], Sealed] | None = None
) -> tuple[list[Sealed], list[Sealed]]:
    """Sets to read, and sets that others stand for. One whose manifest is lost is neither."""
    sets = []
    for path in paths:
        with contextlib.suppress(
            FileNotFoundError, CorruptFile
        ):  # merged and removed meanwhile; reported by `Folder.damage`
            sets.append(opened(path) if opened else Sealed(path, words))
    sets.sort(key=lambda found: (-len(found.sources), found.path))
    taken: set[str] = set()
    read: list[Sealed] = []
    spare: list[Sealed] = []
    for found in sets:
        (spare if taken & found.sources.keys() else read).append(found)
        taken |= found.sources.keys()
    return read, spare


def whole_table(found: Sealed, name: str) -> pa.Table:
    """Narrow and big columns beside each other, without the row groups that do not hold."""
    narrow = found.files[f"{name}.parquet"]
    held = [group for group in range(len(narrow.groups)) if narrow.holds(group)]
    numbers = np.concatenate(
        [np.empty(0, np.int64), *(np.arange(narrow.starts[group], narrow.starts[group + 1]) for group in held)]
    )
    return beside(narrow.read(None, held), found, name, numbers, arrow.fields(name))


def some_rows(found: Sealed, name: str, numbers: Ints) -> pa.Table:
    """The same of some rows, by their numbers, ascending."""
    return beside(rows_of(found.files[f"{name}.parquet"], numbers, None), found, name, numbers, arrow.fields(name))


def beside(narrow: pa.Table, found: Sealed, name: str, numbers: Ints, columns: Sequence[Column]) -> pa.Table:
    text = found.files.get(f"{name}.text.parquet")
    if text is not None:
        big = rows_of(text, numbers, [column.name for column in columns if column.big])
        for name in big.column_names:
            narrow = narrow.append_column(name, big[name])
    return arrow.whole(narrow, columns)


def groups_of(file: File, rows: Ints) -> list[int]:
    """Row groups that hold some rows."""
    found: list[int] = np.unique(np.searchsorted(file.starts, rows, "right") - 1).tolist()
    return found


def rows_of(file: File, rows: Ints, columns: Sequence[str] | None) -> pa.Table:
    """Rows by number, ascending; those of a row group that does not hold come as nulls."""
    if len(rows) == file.rows and file.sound():
        return file.read(columns)
    parts = [] if len(rows) else [file.read(columns, [])]
    for group in groups_of(file, rows):
        lo, hi = int(file.starts[group]), int(file.starts[group + 1])
        here = rows[(rows >= lo) & (rows < hi)] - lo
        found = file.read(columns, [group])
        if len(found) and (np.diff(here) == 1).all():  # side by side: nothing to copy
            parts.append(found.slice(int(here[0]), len(here)))
            continue
        lost = np.full(len(here), not len(found))
        parts.append(found.take(pa.array(np.where(lost, 0, here), mask=lost)))
    return pa.concat_tables(parts)
