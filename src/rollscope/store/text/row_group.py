"""Search one row group of sealed text for a phrase: matching rows, their column and a snippet.

Arrow decodes the columns, and the phrase is looked for in the bytes of a whole column at once. Rows
are looked at one by one only for a regular expression and for escaped texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed.file import SealedFile

from .phrase import Bounds, Phrase

Matches = dict[int, tuple[str, str]]  # row -> column, snippet


def in_row_group(file: SealedFile, group: int, phrase: Phrase, columns: Sequence[str]) -> Matches:
    """Rows of a row group that contain the phrase. A row group that fails its checksum has none."""
    if not file.passes(group):
        return {}
    stored = [column for column in columns if column in file.columns]
    if phrase.regex:
        return _decoded(file, group, phrase, stored)
    return in_table(file.read([arrow.ESCAPED, *stored], [group]), phrase, stored)


def in_table(rows: pa.Table, phrase: Phrase, columns: Sequence[str]) -> Matches:
    """Rows in memory that contain the phrase."""
    matches: Matches = {}
    for column in columns:
        for row, snippet in _in_column(rows, phrase, column) if column in rows.column_names else ():
            matches.setdefault(row, (column, snippet))
    return matches


def _decoded(file: SealedFile, group: int, phrase: Phrase, columns: Sequence[str]) -> Matches:
    """Build the rows that may match, or have an escaped text, and search them one by one."""
    rows = file.read([arrow.ESCAPED, *columns], [group])
    may = np.zeros(len(rows), bool)
    if arrow.ESCAPED in rows.column_names:
        may |= np.asarray(pc.is_valid(rows[arrow.ESCAPED]))
    for column in columns:
        may |= np.asarray(phrase.candidates(rows[column]))
    numbers = np.flatnonzero(may)
    return {int(numbers[row]): match for row, match in in_table(rows.take(numbers), phrase, columns).items()}


def _in_column(rows: pa.Table, phrase: Phrase, column: str) -> Iterator[tuple[int, str]]:
    base = 0
    for chunk in rows[column].chunks:
        data = chunk.buffers()[2]
        if data is not None and len(chunk):
            edges = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
            texts = np.frombuffer(data, np.uint8)[edges[0] : edges[-1]]
            for row, snippet in phrase.rows(texts, partial(_bounds, edges - edges[0])):
                yield base + row, snippet
        base += len(chunk)
    if arrow.ESCAPED in rows.column_names and rows[arrow.ESCAPED].null_count < len(rows):
        yield from _in_escaped(rows, phrase, column)


def _bounds(edges: Ints) -> Bounds:
    return edges[:-1].tolist(), edges[1:].tolist()


def _in_escaped(rows: pa.Table, phrase: Phrase, column: str) -> Iterator[tuple[int, str]]:
    flags = rows[arrow.ESCAPED]
    for row in np.flatnonzero(np.asarray(flags.is_valid())).tolist():
        text = rows[column][row].as_py()
        if text is None or column not in flags[row].as_py().split(","):
            continue
        snippet = phrase.in_text(arrow.unescape(text).encode("utf-8", "surrogatepass"))
        if snippet is not None:
            yield row, snippet
