"""Turns calls to `log` into blocks of the log.

Calls with the same names lie in one matrix. Names that come and go are written one value a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rollscope.record.caller.row_format import RowFormat, RowFormats
from rollscope.record.caller.value import cell
from rollscope.store.log import block
from rollscope.store.log.block import Labels, Partials, Values

BLOCK = 256 * 1024  # bytes that a block aims at: one damaged byte costs a block
FEW = 16  # values: a smaller matrix is not worth its own list of names


@dataclass(slots=True)
class _Mixed:
    """Rows over one list of names of which some are partials or large integers."""

    rows: list[bytes] = field(default_factory=list)
    held: int = 0
    partials: Partials = field(default_factory=Partials)


@dataclass(slots=True)
class Metrics:
    """Gathers the calls of one flush."""

    formats: RowFormats = field(default_factory=RowFormats)
    held: int = 0  # bytes
    _plain: dict[tuple[RowFormat, int], tuple[Labels, list[bytes]]] = field(default_factory=dict)
    _mixed: dict[tuple[tuple[str, ...], tuple[str, ...], Labels], _Mixed] = field(default_factory=dict)

    def add(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        """Add a call of any numbers and partials."""
        if [*map(type, values.values())].count(float) != len(values):
            self._add_cells(step, time_ns, values, labels)
            return
        form = self.formats.of(tuple(values))
        self._rows(form, labels).append(form.pack(step, time_ns, *values.values()))
        self.held += form.size

    def add_packed(self, form: RowFormat, labels: Labels, row: bytes) -> None:
        """Add a call that the caller packed itself."""
        self._rows(form, labels).append(row)
        self.held += form.size

    def _rows(self, form: RowFormat, labels: Labels) -> list[bytes]:
        key = (form, id(labels))  # equal labels are one object, and hashing them for every call is slow
        entry = self._plain.get(key)
        if entry is None:
            entry = self._plain[key] = (labels, [])
        return entry[1]

    def _add_cells(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        cells = [cell(value) for value in values.values()]
        kinds = tuple(c[1] for c in cells)
        if kinds.count("scalar") == len(kinds):
            self.add(step, time_ns, {name: c[0] for name, c in zip(values, cells, strict=True)}, labels)
            return
        row = self.formats.of(tuple(values)).pack(step, time_ns, *(c[0] for c in cells))
        mixed = self._mixed.setdefault((tuple(values), kinds, labels), _Mixed())
        mixed.rows.append(row)
        mixed.partials.weights += [c[2] for c in cells]
        mixed.partials.lengths += [len(c[3]) for c in cells]
        for c in cells:
            mixed.partials.states += c[3]
        size = sum(28 + 8 * len(c[3]) for c in cells)
        mixed.held += size
        self.held += size

    def blocks(self) -> Iterator[bytes]:
        """Blocks to write.

        The rows of a block are dropped when the next is taken, so a failed block comes again.
        """
        few: dict[Labels, list[tuple[RowFormat, bytes]]] = {}
        for key, (labels, rows) in list(self._plain.items()):
            form = key[0]
            if len(form.names) * len(rows) <= FEW:
                few.setdefault(labels, []).extend((form, row) for row in rows)
                continue
            yield from self._matrix(form, rows, labels)
            del self._plain[key]
        for labels, pairs in few.items():
            yield _long(pairs, labels)
            for form, row in pairs:
                self._plain.pop((form, id(labels)), None)
                self.held -= len(row)
        for kind, mixed in list(self._mixed.items()):
            names, kinds, labels = kind
            yield block.wide(names, kinds, b"".join(mixed.rows), labels, mixed.partials)
            del self._mixed[kind]
            self.held -= mixed.held

    def _matrix(self, form: RowFormat, rows: list[bytes], labels: Labels) -> Iterator[bytes]:
        most = max(1, BLOCK // form.size)
        while rows:
            yield block.wide(form.names, None, b"".join(rows[:most]), labels)
            self.held -= form.size * len(rows[:most])
            del rows[:most]


def _long(rows: Iterable[tuple[RowFormat, bytes]], labels: Labels) -> bytes:
    """A block of one row a value."""
    index: dict[str, int] = {}
    values = Values()
    for form, row in rows:
        step, time_ns, *numbers = form.unpack(row)
        for name, number in zip(form.names, numbers, strict=True):
            values.step.append(step)
            values.time_ns.append(time_ns)
            values.index.append(index.setdefault(name, len(index)))
            values.value.append(number)
    return block.long(list(index), None, values, labels)
