"""Write the sets of a run again without some of their columns, and say in them what was let go.

The rows stay, with null in these columns. A set is replaced as in a merge: the new one appears
whole, and then the old one is removed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping

import pyarrow as pa

from rollscope.store.log import files
from rollscope.store.numbers.rows import Words
from rollscope.store.sealed.reader import SealedSet
from rollscope.store.sealed.select import accepted, listed

from . import logs, streams
from .compact import facts_of, tables_of
from .publish import remove_set, write_set
from .streams import Stream

FACT = "let_go"  # in a manifest: what was let go -> when, in nanoseconds


def let_go(run: str, columns: Collection[str], said: Mapping[str, int]) -> int:
    """Let go of columns in every set of a run that is over; return how many sets there are.

    Logs are sealed first: they hold the columns too.
    """
    logs.seal(run, force=True)
    for name in files.listed(run):
        os.unlink(os.path.join(run, name))
    words = Words()
    sets, spare = accepted(listed(run), words)
    for sealed in spare:
        remove_set(sealed.path)
    for sealed in sets:
        if not said.keys() <= sealed.facts.get(FACT, {}).keys():  # else it was done before
            _write_without(run, sealed, columns, said, words)
            remove_set(sealed.path)
    return len(sets)


def _write_without(
    run: str, sealed: SealedSet, columns: Collection[str], said: Mapping[str, int], words: Words
) -> None:
    """Write a set again without some columns, under a name of its own."""
    known = {**sealed.facts.get(FACT, {}), **said}
    text = "\n".join([*sorted(sealed.sources), *sorted(known)])
    stem = "kept." + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    tables = {name: _left(stream, columns) for name, stream in tables_of([sealed]).items()}
    facts = {**facts_of([sealed], sealed.sources), FACT: known}
    write_set(run, stem, streams.metrics_of([sealed]), words, tables, facts)


def _left(stream: Stream, columns: Collection[str]) -> Stream:
    return Stream(stream.columns - set(columns), _nulled(stream, columns))


def _nulled(stream: Stream, columns: Collection[str]) -> Iterator[pa.Table]:
    for table in stream.tables:
        for i, field in enumerate(table.schema):
            if field.name in columns:
                table = table.set_column(i, field, pa.nulls(len(table), field.type))
        yield table
