"""Write the sets of a run again without the rows that some writers wrote of some samples.

A set is replaced as in a merge: the new one appears whole, and then the old one is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterator
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

SAMPLE = {"samples": "id", "turns": "sample", "spans": "sample", "evals": "sample"}  # columns that name a sample


@dataclass(frozen=True, slots=True)
class LeftOut:
    ids: pa.Array
    writers: pa.Array

    def rows(self, name: str, table: pa.Table) -> pa.Array:
        """True for each row of a table that is left out."""
        of_sample = pc.is_in(table[SAMPLE[name]], self.ids)
        return pc.and_(of_sample, pc.is_in(table["writer"], self.writers))

    def of(self, name: str, stream: Stream) -> Stream:
        return Stream(stream.columns, self._kept(name, stream)) if SAMPLE.get(name) in stream.columns else stream

    def _kept(self, name: str, stream: Stream) -> Iterator[pa.Table]:
        for table in stream.tables:
            yield table.filter(pc.invert(self.rows(name, table)))


def leave_out(run: str, ids: Collection[str], writers: Collection[str]) -> int:
    """Return how many sets were written again. The writers have closed their logs.

    A log that another process has open stays as it is.
    """
    out = LeftOut(arrow.strings(sorted(ids))[0], arrow.strings(sorted(writers))[0])
    ranges = logs.declared_ranges(run)
    for name in files.listed(run):
        if name.split(".")[0] in writers:
            with contextlib.suppress(FileNotFoundError):  # another sealer finished this one
                logs.seal_log(run, os.path.join(run, name), ranges)
    words, done = Words(), 0
    for sealed in accepted(listed(run), words)[0]:
        with contextlib.suppress(FileNotFoundError):  # another process merged it: the next look finds the rows
            done += _without(run, sealed, out, words)
    return done


def _without(run: str, sealed: SealedSet, out: LeftOut, words: Words) -> bool:
    """Write one set again; False if it has none of the rows."""
    if not _has_any(sealed, out):
        return False
    _write_without(run, sealed, out, words)
    remove_set(sealed.path)
    return True


def _has_any(sealed: SealedSet, out: LeftOut) -> bool:
    """True if a set that can be read as a whole has rows that are left out."""
    tables = [(name, sealed.table(name)) for name in SAMPLE if f"{name}.parquet" in sealed.files]
    named = [(name, rows) for name, rows in tables if rows is not None and SAMPLE[name] in rows.column_names]
    return sealed.is_sound() and any(np.asarray(out.rows(name, rows)).any() for name, rows in named)


def _write_without(run: str, sealed: SealedSet, out: LeftOut, words: Words) -> None:
    text = "\n".join([os.path.basename(sealed.path), *out.ids.to_pylist()])
    stem = "rest." + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    tables = {name: out.of(name, stream) for name, stream in tables_of([sealed]).items()}
    write_set(run, stem, streams.metrics_of([sealed]), words, tables, facts_of([sealed], sealed.sources))
