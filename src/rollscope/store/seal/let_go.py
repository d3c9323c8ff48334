"""Write the sets of a run again without some of their columns, and say in them what was let go.

The rows stay, with null in these columns; samples that are kept stay whole. A set is replaced as in
a merge: the new one appears whole, and then the old one is removed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow
from rollscope.store.log import files
from rollscope.store.numbers.rows import Words
from rollscope.store.sealed.reader import SealedSet
from rollscope.store.sealed.select import accepted, listed

from . import logs, streams
from .compact import facts_of, tables_of
from .publish import remove_set, write_set
from .streams import Stream

FACT = "let_go"  # in a manifest: what was let go -> when, in nanoseconds
SAMPLE = {"samples": "id", "turns": "sample"}  # where a row says of which sample it is


@dataclass(frozen=True, slots=True)
class Gone:
    """The columns to empty, and the ids of samples that keep theirs."""

    columns: frozenset[str]
    kept: pa.Array

    def of(self, name: str, stream: Stream) -> Stream:
        """The rows of a table without what is gone."""
        stays = SAMPLE.get(name) if len(self.kept) else None
        columns = stream.columns if stays else stream.columns - self.columns
        return Stream(columns, (self._emptied(table, stays) for table in stream.tables))

    def _emptied(self, table: pa.Table, stays: str | None) -> pa.Table:
        keeps = self._keeps(table, stays)
        for i, field in enumerate(table.schema):
            if field.name in self.columns:
                table = table.set_column(i, field, table.column(i).take(keeps))
        return table

    def _keeps(self, table: pa.Table, stays: str | None) -> pa.Array:
        """The number of each row that is kept, and null for the others."""
        rows = np.arange(len(table))
        if stays is None:
            return pa.array(rows, mask=np.ones(len(table), bool))
        return pa.array(rows, mask=~np.asarray(pc.is_in(table[stays], self.kept)))


def let_go(run: str, columns: Collection[str], said: Mapping[str, int], kept: Collection[str] = ()) -> int:
    """Let go of columns in every set of a run that is over; return how many sets there are.

    Samples with an id of `kept` keep theirs. Logs are sealed first: they hold the columns too.
    """
    gone = Gone(frozenset(columns), arrow.strings(sorted(kept))[0])
    logs.seal(run, force=True)
    for name in files.listed(run):
        os.unlink(os.path.join(run, name))
    words = Words()
    sets, spare = accepted(listed(run), words)
    for sealed in spare:
        remove_set(sealed.path)
    for sealed in sets:
        if not said.keys() <= sealed.facts.get(FACT, {}).keys():  # else it was done before
            _write_without(run, sealed, gone, said, words)
            remove_set(sealed.path)
    return len(sets)


def _write_without(run: str, sealed: SealedSet, gone: Gone, said: Mapping[str, int], words: Words) -> None:
    """Write a set again without what is gone, under a name of its own."""
    known = {**sealed.facts.get(FACT, {}), **said}
    text = "\n".join([*sorted(sealed.sources), *sorted(known)])
    stem = "kept." + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    tables = {name: gone.of(name, stream) for name, stream in tables_of([sealed]).items()}
    facts = {**facts_of([sealed], sealed.sources), FACT: known}
    write_set(run, stem, streams.metrics_of([sealed]), words, tables, facts)
