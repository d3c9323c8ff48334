"""Search one row group of sealed text for a phrase: matching rows, their column and a snippet.

Pages are decompressed and searched as bytes; a prompt that a whole group of samples shares is
stored once, in the dictionary. Rows are built only for a regular expression, for escaped texts, and
if a dictionary contains the phrase.
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

from . import pages
from .phrase import Bounds, Phrase

Matches = dict[int, tuple[str, str]]  # row -> column, snippet


def in_row_group(file: SealedFile, group: int, phrase: Phrase, columns: Sequence[str]) -> Matches:
    """Rows of a row group that contain the phrase. A row group that fails its checksum has none."""
    if not file.passes(group):
        return {}
    stored = [column for column in columns if column in file.columns]
    if phrase.regex or _has_escapes(file, group):
        return _decoded(file, group, phrase, stored)
    matches: Matches = {}
    for column in stored:
        for row, snippet in _in_pages(file, group, phrase, column):
            matches.setdefault(row, (column, snippet))
    return matches


def in_table(rows: pa.Table, phrase: Phrase, columns: Sequence[str]) -> Matches:
    """Rows in memory that contain the phrase."""
    matches: Matches = {}
    for column in columns:
        for row, snippet in _in_column(rows, phrase, column) if column in rows.column_names else ():
            matches.setdefault(row, (column, snippet))
    return matches


def _has_escapes(file: SealedFile, group: int) -> bool:
    """True if some text of the row group is escaped, or the pages do not tell."""
    try:
        return arrow.ESCAPED in file.columns and any(len(page.data) for page in pages.pages(file, group, arrow.ESCAPED))
    except pages.Unknown:
        return True


def _in_pages(file: SealedFile, group: int, phrase: Phrase, column: str) -> list[tuple[int, str]]:
    matches: list[tuple[int, str]] = []
    try:
        for page in pages.pages(file, group, column):
            hits = list(phrase.rows(page.data, page.bounds))
            if hits and page.dictionary:
                return _in_decoded(file, group, phrase, column)
            numbers = page.row_numbers() if hits else []
            matches += [(numbers[i], snippet) for i, snippet in hits]
    except pages.Unknown:
        return _in_decoded(file, group, phrase, column)
    return matches


def _in_decoded(file: SealedFile, group: int, phrase: Phrase, column: str) -> list[tuple[int, str]]:
    return [(row, snippet) for row, (_, snippet) in _decoded(file, group, phrase, [column]).items()]


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
