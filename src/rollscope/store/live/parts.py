"""The rows of one table in a growing log, as a handful of parts.

Rows are gathered in units, and units are joined as they grow, like the digits of a binary
counter. So a new block seldom costs more than itself, and where a part ends depends on the log
alone: readers of the same log share theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

from rollscope.store.log.block import Table

from .part import Part
from .shared import Shared

UNIT = 256  # rows, or the block that makes it more


class Parts:
    """In the order of the log."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._units: list[tuple[int, Part]] = []  # how many units each part has
        self._open: list[Part] = []  # of blocks that make no unit yet

    def all(self) -> list[Part]:
        return [part for _, part in self._units] + self._open

    def add(self, blocks: Sequence[Table]) -> list[Part]:
        """Take blocks that have rows; return their rows alone."""
        new = []
        while blocks:
            count = self._room(blocks)
            new.append(Part.of(blocks[:count]))
            blocks = blocks[count:]
            self._append(new[-1])
        return new

    def _room(self, blocks: Sequence[Table]) -> int:
        """How many of the blocks belong to the unit that is not complete."""
        rows = sum(map(len, self._open))
        ends = accumulate((block.rows for block in blocks), initial=rows)
        return min(len(blocks), sum(end < UNIT for end in ends))

    def _append(self, new: Part) -> None:
        self._open.append(new)
        while len(self._open) > 1 and len(self._open[-2]) < 2 * len(self._open[-1]):
            last = self._open.pop()
            self._open.append(self._open.pop().joined(last))
        if sum(map(len, self._open)) >= UNIT:
            self._push(1, self._joined(self._open))
            self._open = []

    def _push(self, count: int, part: Part) -> None:
        while self._units and self._units[-1][0] == count:
            part, count = self._joined([self._units.pop()[1], part]), 2 * count
        self._units.append((count, part))

    def _joined(self, parts: Sequence[Part]) -> Part:
        first, last, size = parts[0].offsets[0], parts[-1].offsets[-1], sum(len(part.offsets) for part in parts)
        return self._shared.get(
            parts[0].table, int(first), int(last), size, lambda: reduce(lambda a, b: a.joined(b), parts)
        )
