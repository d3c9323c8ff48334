"""One log while it is written: only the bytes that are new since the last look are decoded."""

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
    """What a log holds from a byte offset on (the part before it may already be sealed)."""

    def __init__(self, path: str, words: Words, offset: int = 0) -> None:
        match = NAME.fullmatch(os.path.basename(path))
        assert match is not None, f"{path} is not the name of a log"
        self.path, self.writer, self.seq, self.offset = path, match["writer"], int(match["seq"]), offset
        self.start = offset
        self.stem = f"{self.writer}.{match['seq']}"
        self.metrics = LiveMetrics(self.writer, self.seq, words)
        self.facts: dict[str, Any] = {}
        self.closed = False
        self._damage: dict[int, Damage] = {}  # by offset: a torn end that grows is one damage
        self.version = 0  # grows with every block
        self._tables: dict[str, list[pa.Table]] = {}
        self._fresh: list[pa.ChunkedArray] = []  # ids not hashed yet
        self._hashes: list[sample_ids.Hashes] = []
        self._steps: dict[str, dict[int, int]] = {}  # table -> step -> rows

    def refresh(self) -> bool:
        """Read what is new; True if there was anything."""
        if os.path.getsize(self.path) <= self.offset:
            return False
        found = scan(self.path, self.offset)
        self._damage |= {damage.offset: damage for damage in found.damage}
        self.offset = found.next_offset
        for block in found.blocks:
            self._add(block)
        self.version += len(found.blocks)
        return bool(found.blocks)

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
            self._fresh.append(new["id"])
        if name in ("samples", "spans"):
            counts = self._steps.setdefault(name, {})
            for step, count in _steps(new):
                counts[step] = counts.get(step, 0) + count
        pieces = self._tables.setdefault(name, [])
        pieces.append(new)
        while len(pieces) > 1 and len(pieces[-2]) < 2 * len(pieces[-1]):
            last, before = pieces.pop(), pieces.pop()
            pieces.append(pa.concat_tables([before, last], promote_options="default").combine_chunks())

    def sample_hashes(self) -> sample_ids.Hashes:
        """Of every sample row so far; each is hashed once."""
        self._hashes += [sample_ids.hashes(ids.to_pylist()) for ids in self._fresh]
        self._fresh.clear()
        return np.concatenate([np.empty(0, np.uint64), *self._hashes])

    def steps_of(self, table: str) -> dict[int, int]:
        """Steps of the samples, or of the spans, so far, with how many rows each has."""
        return self._steps.get(table, {})

    @property
    def damage(self) -> list[Damage]:
        return list(self._damage.values())

    def tables(self, name: str) -> list[pa.Table]:
        return self._tables.get(name, [])

    def names(self) -> list[str]:
        return list(self._tables)


def _steps(new: pa.Table) -> list[tuple[int, int]]:
    if "step" not in new.column_names:
        return []
    steps = np.sort(arrow.filled(new["step"], 0)[~arrow.missing(new["step"])])
    starts = stretch_starts(steps)  # np.unique would import numpy.ma, which takes longer than a look
    return list(zip(steps[starts].tolist(), np.diff([*starts, len(steps)]).tolist(), strict=True))
