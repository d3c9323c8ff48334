"""A log that may still grow. Each look decodes only the bytes written since the last one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.store import arrow, sample_ids
from rollscope.store.log.block import Meta, Metrics, Table
from rollscope.store.log.files import NAME
from rollscope.store.log.frame import Damage
from rollscope.store.log.scan import scan
from rollscope.store.numbers.rows import Words, stretch_starts

from . import table_block
from .metrics import LiveMetrics


class Tail:
    """The content of a log from a byte offset on. Bytes before the offset are sealed already."""

    def __init__(self, path: str, words: Words, offset: int = 0) -> None:
        match = NAME.fullmatch(os.path.basename(path))
        assert match is not None, f"{path} is not the name of a log"
        self.path, self.writer, self.seq, self.offset = path, match["writer"], int(match["seq"]), offset
        self.start = offset
        self.stem = f"{self.writer}.{match['seq']}"
        self.metrics = LiveMetrics(self.writer, self.seq, words)
        self.facts: dict[str, Any] = {}
        self.closed = False
        self._damage: dict[int, Damage] = {}  # by offset: damage at the end that grows is one damage
        self._tables: dict[str, list[pa.Table]] = {}
        self._unhashed: list[pa.ChunkedArray] = []  # ids of samples
        self._hashes: list[sample_ids.Hashes] = []
        self._steps: dict[str, dict[int, int]] = {}  # table -> step -> rows

    def refresh(self) -> bool:
        """Read the new blocks; True if there were any."""
        if os.path.getsize(self.path) <= self.offset:
            return False
        new = scan(self.path, self.offset)
        self._damage |= {damage.offset: damage for damage in new.damage}
        self.offset = new.next_offset
        for block in new.blocks:
            self._add(block)
        return bool(new.blocks)

    def _add(self, block: Metrics | Table | Meta) -> None:
        if isinstance(block, Metrics):
            self.metrics.add(block)
        elif isinstance(block, Table):
            self._append(block.table, table_block.table(block, self.writer, self.seq))
        elif block.what == "end":
            self.closed = True
            self.facts |= block.facts
        else:
            self.facts |= block.facts

    def _append(self, name: str, new: pa.Table) -> None:
        if not len(new):
            return
        if name == "samples":
            self._unhashed.append(new["id"])
        if name in ("samples", "spans"):
            counts = self._steps.setdefault(name, {})
            for step, count in _count_by_step(new):
                counts[step] = counts.get(step, 0) + count
        tables = self._tables.setdefault(name, [])
        tables.append(new)
        while len(tables) > 1 and len(tables[-2]) < 2 * len(tables[-1]):
            last, before = tables.pop(), tables.pop()
            tables.append(pa.concat_tables([before, last], promote_options="default").combine_chunks())

    def sample_hashes(self) -> sample_ids.Hashes:
        """Hashes of the ids of all sample rows so far. Each id is hashed once."""
        self._hashes += [sample_ids.hashes(ids.to_pylist()) for ids in self._unhashed]
        self._unhashed.clear()
        return np.concatenate([np.empty(0, np.uint64), *self._hashes])

    def steps_of(self, table: str) -> dict[int, int]:
        """Step -> number of rows so far, of samples or spans."""
        return self._steps.get(table, {})

    @property
    def damage(self) -> list[Damage]:
        return list(self._damage.values())

    def tables(self, name: str) -> list[pa.Table]:
        return self._tables.get(name, [])

    def names(self) -> list[str]:
        return list(self._tables)


def _count_by_step(new: pa.Table) -> list[tuple[int, int]]:
    if "step" not in new.column_names:
        return []
    steps = np.sort(arrow.filled(new["step"], 0)[~arrow.missing(new["step"])])
    starts = stretch_starts(steps)  # np.unique would import numpy.ma, which takes longer
    return list(zip(steps[starts].tolist(), np.diff([*starts, len(steps)]).tolist(), strict=True))
