"""A row group of sealed text, looked through for a phrase: which rows hold it, in which column, and what stands around it.

Its pages are decompressed and searched as they lie; of a prompt that a whole group shares there is one copy, in the dictionary. Rows are made where that
does not do: for a regular expression, for texts that had to be escaped, and for a dictionary that holds the phrase.
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

Found = dict[int, tuple[str, str]]  # row -> column, snippet


def look(file: SealedFile, group: int, phrase: Phrase, columns: Sequence[str]) -> Found:
    """Rows of a row group that hold the phrase."""
    if not file.passes(group):
        return {}
    there = [column for column in columns if column in file.columns]
    by_pages = not phrase.regex and not _escaped(file, group)
    found: Found = {}
    for column in there if by_pages else ():
        for row, snippet in _in_pages(file, group, phrase, column):
            found.setdefault(row, (column, snippet))
    return found if by_pages else _decoded(file, group, phrase, there)


def in_table(rows: pa.Table, phrase: Phrase, columns: Sequence[str]) -> Found:
    """The same for rows in memory."""
    found: Found = {}
    for column in columns:
        for row, snippet in _in_column(rows, phrase, column) if column in rows.column_names else ():
            found.setdefault(row, (column, snippet))
    return found


def _escaped(file: SealedFile, group: int) -> bool:
    """Does a row have a text that stands in the file in other letters?"""
    try:
        return arrow.ESCAPED in file.columns and any(len(page.data) for page in pages.pages(file, group, arrow.ESCAPED))
    except pages.Unknown:
        return True


def _in_pages(file: SealedFile, group: int, phrase: Phrase, column: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    try:
        for page in pages.pages(file, group, column):
            hits = list(phrase.rows(page.data, page.bounds))
            if hits and page.dictionary:
                return _rows_of(file, group, phrase, column)
            places = page.places() if hits else []
            found += [(places[i], snippet) for i, snippet in hits]
    except pages.Unknown:
        return _rows_of(file, group, phrase, column)
    return found


def _rows_of(file: SealedFile, group: int, phrase: Phrase, column: str) -> list[tuple[int, str]]:
    return [(row, snippet) for row, (_, snippet) in _decoded(file, group, phrase, [column]).items()]


def _decoded(file: SealedFile, group: int, phrase: Phrase, columns: Sequence[str]) -> Found:
    """By making rows of them: those that may fit, and those with an escaped text, are looked at one by one."""
    rows = file.read([arrow.ESCAPED, *columns], [group])
    may = (
        np.asarray(pc.is_valid(rows[arrow.ESCAPED]))
        if arrow.ESCAPED in rows.column_names
        else np.zeros(len(rows), bool)
    )
    for column in columns:
        may = may | np.asarray(phrase.fits(rows[column]))
    places = np.flatnonzero(may)
    return {int(places[row]): hit for row, hit in in_table(rows.take(places), phrase, columns).items()}


def _in_column(rows: pa.Table, phrase: Phrase, column: str) -> Iterator[tuple[int, str]]:
    base = 0
    for chunk in rows[column].chunks:
        data = chunk.buffers()[2]
        if data is not None and len(chunk):
            edges = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
            texts = np.frombuffer(data, np.uint8)[edges[0] : edges[-1]]
            yield from (
                (base + row, snippet) for row, snippet in phrase.rows(texts, partial(_bounds, edges - edges[0]))
            )
        base += len(chunk)
    if arrow.ESCAPED in rows.column_names and rows[arrow.ESCAPED].null_count < len(rows):
        yield from _in_escaped(rows, phrase, column)


def _bounds(edges: Ints) -> Bounds:
    return edges[:-1].tolist(), edges[1:].tolist()


def _in_escaped(rows: pa.Table, phrase: Phrase, column: str) -> Iterator[tuple[int, str]]:
    flags = rows[arrow.ESCAPED]
    for row in np.flatnonzero(np.asarray(flags.is_valid())).tolist():
        text = rows[column][row].as_py()
        own = text is not None and column in flags[row].as_py().split(",")
        if own and (snippet := phrase.in_text(arrow.unescape(text).encode("utf-8", "surrogatepass"))) is not None:
            yield row, snippet
