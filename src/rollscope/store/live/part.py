"""Rows of a table in a log: narrow columns in memory, big ones only where they lie in the log.

Texts and token arrays are most of a log's bytes, and few of them are ever asked for. Those that are
asked for are read again from their blocks, so a reader of a growing log stays small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from rollscope.store.arrow import TYPES
from rollscope.store.log import block, frame
from rollscope.store.log.block import Table
from rollscope.store.numbers.rows import Ints, stretch_starts
from rollscope.store.schema import TABLES

from . import paged, table_block

BIG = {table: frozenset(c.name for c in columns if c.big) for table, columns in TABLES.items()}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Part:
    """Rows of one table, and the blocks of the log that they came from."""

    table: str
    narrow: pa.Table  # without `writer` and `seq`: the log knows them
    big: frozenset[str]  # columns that some of the blocks have
    offsets: Ints  # of the blocks
    starts: Ints  # the first row of each block

    def __len__(self) -> int:
        return len(self.narrow)

    @classmethod
    def of(cls, blocks: Sequence[Table]) -> Part:
        """The rows of blocks of one table. Nothing here refers to the bytes that were scanned."""
        big = BIG[blocks[0].table] & set().union(*(one.columns for one in blocks))
        tables = [table_block.own_columns(one) for one in blocks]
        narrow = [table.drop_columns([name for name in table.column_names if name in big]) for table in tables]
        return cls(
            blocks[0].table,
            _copied(narrow),
            big,
            np.array([one.offset for one in blocks], np.int64),
            np.cumsum([0, *(one.rows for one in blocks[:-1])], dtype=np.int64),
        )

    def pieces(self, blocks: int) -> Iterator[Ints]:
        """The numbers of all rows, so many blocks at a time, the last ones first."""
        starts = [*self.starts[::blocks].tolist(), len(self)]
        for lo, hi in reversed(list(pairwise(starts))):
            yield np.arange(lo, hi)

    def joined(self, other: Part) -> Part:
        return Part(
            self.table,
            paged.table(_copied([self.narrow, other.narrow])),
            self.big | other.big,
            np.concatenate([self.offsets, other.offsets]),
            np.concatenate([self.starts, other.starts + len(self)]),
        )


def _copied(tables: Sequence[pa.Table]) -> pa.Table:
    """The tables as one, in buffers of its own. A column that a table lacks is null."""
    rows = pa.concat_tables(tables, promote_options="default")
    return pa.table({name: pa.concat_arrays(rows[name].chunks) for name in rows.column_names})


def big_bytes(block: Table) -> int:
    """How many bytes of a block its big columns are."""
    return sum(len(cell) for name in BIG[block.table] & block.columns.keys() for cell in block.columns[name].parts)


def big_columns(log: BinaryIO, part: Part, rows: Ints, names: Sequence[str]) -> tuple[pa.Table, list[int]]:
    """Some big columns of rows given by number, ascending, as they lie in the log.

    Also returns the offsets of blocks that are not there any more: their cells are null.
    """
    schema = pa.schema([(c.name, TYPES[c.type]) for c in TABLES[part.table] if c.name in names])
    owner = np.searchsorted(part.starts, rows, "right") - 1
    bounds = [*stretch_starts(owner).tolist(), len(rows)]
    parts, lost = [schema.empty_table()], []
    for lo, hi in pairwise(bounds):
        number = int(owner[lo])
        cells = _of_block(log, int(part.offsets[number]), schema)
        if cells is None:
            lost.append(int(part.offsets[number]))
            parts.append(pa.table([pa.nulls(hi - lo, field.type) for field in schema], schema=schema))
        elif hi - lo == len(cells):
            parts.append(cells)
        else:
            parts.append(cells.take(pa.array(rows[lo:hi] - part.starts[number])))
    return pa.concat_tables(parts), lost


def _of_block(log: BinaryIO, offset: int, schema: pa.Schema) -> pa.Table | None:
    """The columns of the block at an offset; None if there is no whole block."""
    found = frame.at(log, offset)
    stored = None if found is None else block.read(found.payload, offset, found.number)
    if not isinstance(stored, Table):
        return None
    columns = {name: stored.columns[name] for name in schema.names if name in stored.columns}
    arrays = table_block.arrays(columns)[0]
    filled = [arrays.get(field.name, pa.nulls(stored.rows, field.type)) for field in schema]
    return pa.table(filled, schema=schema)
