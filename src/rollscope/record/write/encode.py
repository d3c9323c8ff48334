"""Turns calls to `log` into blocks of the log.

Calls with the same names lie in one matrix. Names that come and go are written one value a row. A
value that cannot be encoded costs itself alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rollscope.record.caller.label import kind_of, text
from rollscope.record.caller.row_format import RowFormat, RowFormats
from rollscope.record.caller.value import cell
from rollscope.record.loss import ODD, Losses, one_line
from rollscope.store.log import block
from rollscope.store.log.block import Labels, Partials, Values

BLOCK = 256 * 1024  # bytes that a block aims at: one damaged byte costs a block
FEW = 16  # values: a smaller matrix is not worth its own list of names
Cell = tuple[float, str, float, tuple[float, ...]]
Key = tuple[RowFormat, int]  # names, and the identity of labels: hashing labels for every call is slow


@dataclass(slots=True)
class _Mixed:
    """Rows over one list of names of which some are partials or large integers."""

    labels: Labels
    rows: list[bytes] = field(default_factory=list)
    held: int = 0
    partials: Partials = field(default_factory=Partials)

    def add(self, row: bytes, cells: list[Cell]) -> int:
        """Add a row. Returns its bytes."""
        self.rows.append(row)
        self.partials.weights += [c[2] for c in cells]
        self.partials.lengths += [len(c[3]) for c in cells]
        for c in cells:
            self.partials.states += c[3]
        size = sum(28 + 8 * len(c[3]) for c in cells)
        self.held += size
        return size


class Metrics:
    """Gathers the calls of one flush."""

    def __init__(self, losses: Losses) -> None:
        self.held = 0  # bytes
        self._losses = losses
        self._formats = RowFormats(losses.count)
        self._plain: dict[Key, tuple[Labels, list[bytes]]] = {}
        self._mixed: dict[tuple[RowFormat, tuple[str, ...], int], _Mixed] = {}

    def add(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        """Add a call of any numbers and partials."""
        if [*map(type, values.values())].count(float) != len(values):
            self._add_cells(step, time_ns, values, labels)
            return
        form = self._formats.of(tuple(values))
        self.add_packed(form, labels, form.pack(step, time_ns, *values.values()))

    def add_packed(self, form: RowFormat, labels: Labels, row: bytes) -> None:
        """Add a call that the caller packed itself."""
        key = (form, id(labels))
        entry = self._plain.get(key)
        if entry is None:
            entry = self._plain[key] = (labels, [])
        entry[1].append(row)
        self.held += form.size

    def _add_cells(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        cells = self._cells(values)
        if not cells:
            return
        kinds = tuple(c[1] for c in cells)
        if kinds.count("scalar") == len(kinds):
            self.add(step, time_ns, {name: c[0] for name, c in zip(values, cells, strict=True)}, labels)
            return
        form = self._formats.of(tuple(values))
        row = form.pack(step, time_ns, *(c[0] for c in cells))
        self.held += self._mixed.setdefault((form, kinds, id(labels)), _Mixed(labels)).add(row, cells)

    def _cells(self, values: dict[str, Any]) -> list[Cell]:
        """The values as the store keeps them. What is no number is removed from `values`."""
        try:
            return [cell(value) for value in values.values()]
        except ODD:
            cells = []
            for name, value in list(values.items()):
                try:
                    cells.append(cell(value))
                except ODD as error:
                    del values[name]
                    what = f"{text(name, self._losses.count)!r} was not a number but {kind_of(value)}"
                    self._losses.count("values", f"{what} ({one_line(error)})")
            return cells

    def blocks(self) -> Iterator[bytes]:
        """Blocks to write.

        The rows of a block are dropped when the next is taken, so a failed block comes again.
        """
        few: dict[Labels, list[Key]] = {}
        for key, (labels, rows) in list(self._plain.items()):
            if len(key[0].names) * len(rows) <= FEW:
                few.setdefault(labels, []).append(key)
                continue
            yield from self._matrix(key[0], rows, labels)
            del self._plain[key]
        for labels, keys in few.items():
            yield from self._list(keys, labels)
        for kind, mixed in list(self._mixed.items()):
            make = partial(block.wide, kind[0].names, kind[1], b"".join(mixed.rows), mixed.labels, mixed.partials)
            yield from self._encoded(make, len(mixed.rows))
            del self._mixed[kind]
            self.held -= mixed.held

    def _matrix(self, form: RowFormat, rows: list[bytes], labels: Labels) -> Iterator[bytes]:
        most = max(1, BLOCK // form.size)
        while rows:
            part = b"".join(rows[:most])
            yield from self._encoded(partial(block.wide, form.names, None, part, labels), len(part) // form.size)
            self.held -= len(part)
            del rows[:most]

    def _list(self, keys: list[Key], labels: Labels) -> Iterator[bytes]:
        pairs = [(form, row) for form, number in keys for row in self._plain[form, number][1]]
        yield from self._encoded(partial(_long, pairs, labels), len(pairs))
        for key in keys:
            del self._plain[key]
        self.held -= sum(len(row) for _, row in pairs)

    def _encoded(self, make: Callable[[], bytes], calls: int) -> Iterator[bytes]:
        """One block, or none and a loss: trying the same rows again would fail for ever."""
        try:
            payload = make()
        except MemoryError:
            raise  # there may be room in the next round
        except ODD as error:
            self._losses.count("calls of log", f"they could not be encoded: {one_line(error)}", calls)
            return
        yield payload


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
