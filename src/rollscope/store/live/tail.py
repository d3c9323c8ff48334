"""A log that may still grow. Each look decodes only the bytes written since the last one.

Numbers and narrow columns are kept in memory, big columns are read from the log when asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from rollscope.store import regular_file, sample_ids
from rollscope.store.log.block import Meta, Metrics, Table
from rollscope.store.log.files import NAME
from rollscope.store.log.frame import Damage
from rollscope.store.log.scan import scan
from rollscope.store.numbers.rows import Ints, Words
from rollscope.store.numbers.step_marks import NONE, StepMarks

from . import table_block
from .growing import GrowingArray
from .metrics import LiveMetrics
from .part import Part, big_bytes, big_columns
from .parts import Parts
from .shared import Shared
from .step_counts import StepCounts


class Tail:
    """The content of a log from a byte offset on. Bytes before the offset are sealed already."""

    def __init__(self, path: str, words: Words, offset: int = 0) -> None:
        match = NAME.fullmatch(os.path.basename(path))
        assert match is not None, f"{path} is not the name of a log"
        self.path, self.writer, self.seq, self.offset = path, match["writer"], int(match["seq"]), offset
        self.start = offset
        self.held = 0  # bytes of the log that are in memory, decoded
        self.stem = f"{self.writer}.{match['seq']}"
        self._shared = Shared(path)
        self.metrics = LiveMetrics(self.writer, self.seq, words, self._shared)
        self.facts: dict[str, Any] = {}
        self.closed = False
        self._damage: dict[int, Damage] = {}  # by offset: damage at the end that grows is one damage
        self._parts: dict[str, Parts] = {}  # by table
        self._unhashed: list[pa.ChunkedArray] = []  # ids of samples
        self._hashes = GrowingArray(np.uint64)
        self._steps: dict[str, StepCounts] = {}  # by table

    def refresh(self) -> bool:
        """Read the new blocks; True if there were any."""
        if os.path.getsize(self.path) <= self.offset:
            return False
        new = scan(self.path, self.offset)
        self._damage |= {damage.offset: damage for damage in new.damage}
        self.held += new.next_offset - self.offset
        self.offset = new.next_offset
        tables: dict[str, list[Table]] = {}
        for block in new.blocks:
            if isinstance(block, Table):
                tables.setdefault(block.table, []).append(block)
                self.held -= big_bytes(block)
            else:
                self._add(block)
        for name, blocks in tables.items():
            self._append(name, [block for block in blocks if block.rows])
        return bool(new.blocks)

    def _add(self, block: Metrics | Meta) -> None:
        if isinstance(block, Metrics):
            self.metrics.add(block)
            return
        self.closed |= block.what == "end"
        self.facts |= block.facts

    def _append(self, name: str, blocks: Sequence[Table]) -> None:
        if not blocks:
            return
        for new in self._parts.setdefault(name, Parts(self._shared)).add(blocks):
            if name == "samples":
                self._unhashed.append(new.narrow["id"])
            if name in ("samples", "spans"):
                self._steps.setdefault(name, StepCounts()).add(new.narrow)

    def sample_hashes(self) -> sample_ids.Hashes:
        """Hashes of the ids of all sample rows so far. Each id is hashed once."""
        if self._unhashed:
            self._hashes.append(sample_ids.hashes(id for ids in self._unhashed for id in ids.to_pylist()))
            self._unhashed.clear()
        return self._hashes.whole()

    def steps_of(self, table: str) -> StepMarks:
        """The number of rows so far of each step, of samples or spans."""
        return self._steps[table].all() if table in self._steps else NONE

    @property
    def damage(self) -> list[Damage]:
        return list(self._damage.values())

    def names(self) -> list[str]:
        return list(self._parts)

    def tables(self, name: str) -> list[pa.Table]:
        """The rows of a table without its big columns."""
        return [table_block.with_source(part.narrow, self.writer, self.seq) for part in self.parts(name)]

    def parts(self, name: str) -> list[Part]:
        """The same, each with the place of its big columns; see `rows`."""
        return self._parts[name].all() if name in self._parts else []

    def opened(self) -> BinaryIO:
        """The log, to read big columns from it also when it is sealed and removed meanwhile."""
        return regular_file.opened(self.path)

    def rows(
        self,
        part: Part,
        columns: Sequence[str] | None = None,
        numbers: Ints | None = None,
        log: BinaryIO | None = None,
    ) -> pa.Table:
        """Rows of a part by number, ascending, or all; with some columns, or all.

        Raises FileNotFoundError if the log is gone, unless it was `opened` before.
        """
        rows = part.narrow if numbers is None else part.narrow.take(pa.array(numbers))
        rows = table_block.with_source(rows, self.writer, self.seq)
        if columns is not None:
            rows = rows.select([name for name in rows.column_names if name in columns])
        names = [name for name in part.big if columns is None or name in columns]
        if not names:
            return rows
        numbers = np.arange(len(part)) if numbers is None else numbers
        if log is not None:
            return self._with_big(log, rows, part, names, numbers)
        with self.opened() as log:
            return self._with_big(log, rows, part, names, numbers)

    def _with_big(self, log: BinaryIO, rows: pa.Table, part: Part, names: Sequence[str], numbers: Ints) -> pa.Table:
        big, lost = big_columns(log, part, numbers, names)
        for offset in lost:
            self._damage[offset] = Damage(self.path, offset, 0, "a block that was whole cannot be read again")
        for name in big.column_names:
            rows = rows.append_column(name, big[name])
        return rows
