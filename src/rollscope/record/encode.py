"""Calls to `log()` into blocks of the log. Calls with the same names lie in one matrix; names that come and go are written one value a row."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollscope.record.value import cell
from rollscope.store import block
from rollscope.store.block import Labels, Partials, Values

BLOCK = 256 * 1024  # bytes a block aims at: what one damaged byte costs
FEW = 16  # values: a matrix smaller than this is not worth a list of names of its own
SCHEMAS = 4096


class Schema:
    """A list of names, and how a row of their values is packed."""

    __slots__ = ("names", "pack", "size", "unpack")

    def __init__(self, names: tuple[str, ...]) -> None:
        form = struct.Struct(f"<qq{len(names)}d")
        self.names = names
        self.pack = form.pack
        self.unpack = form.unpack
        self.size = form.size


class Schemas:
    """Schemas by their names. Bounded: names that never come again are forgotten."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Schema] = {}

    def of(self, names: tuple[str, ...]) -> Schema:
        found = self._known.get(names)
        if found is None:
            if len(self._known) >= SCHEMAS:
                self._known.clear()
            found = Schema(names)
            self._known[names] = found
        return found


@dataclass(slots=True)
class _Mixed:
    """Rows of one list of names where some are partials or large whole numbers."""

    rows: list[bytes] = field(default_factory=list)
    partials: Partials = field(default_factory=Partials)


@dataclass(slots=True)
class Metrics:
    """Gathers the calls of one flush."""

    schemas: Schemas
    held: int = 0  # bytes
    _plain: dict[tuple[tuple[str, ...], Labels], list[bytes]] = field(default_factory=dict)
    _mixed: dict[tuple[tuple[str, ...], tuple[str, ...], Labels], _Mixed] = field(default_factory=dict)

    def add_floats(self, step: int, time_ns: int, values: dict[str, float], labels: Labels) -> None:
        schema = self.schemas.of(tuple(values))
        self.add_packed(schema, schema.pack(step, time_ns, *values.values()), labels)

    def add_packed(self, schema: Schema, row: bytes, labels: Labels) -> None:
        rows = self._plain.get((schema.names, labels))
        if rows is None:
            rows = self._plain[schema.names, labels] = []
        rows.append(row)
        self.held += schema.size

    def add_mixed(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        cells = [cell(value) for value in values.values()]
        kinds = tuple(c[1] for c in cells)
        if kinds.count("scalar") == len(kinds):
            self.add_floats(step, time_ns, {name: c[0] for name, c in zip(values, cells, strict=True)}, labels)
            return
        mixed = self._mixed.setdefault((tuple(values), kinds, labels), _Mixed())
        mixed.rows.append(self.schemas.of(tuple(values)).pack(step, time_ns, *(c[0] for c in cells)))
        mixed.partials.weights += [c[2] for c in cells]
        mixed.partials.lengths += [len(c[3]) for c in cells]
        for c in cells:
            mixed.partials.states += c[3]
            self.held += 28 + 8 * len(c[3])

    def blocks(self) -> list[bytes]:
        out: list[bytes] = []
        few: dict[Labels, list[tuple[Schema, bytes]]] = {}
        for (names, labels), rows in self._plain.items():
            if len(names) * len(rows) <= FEW:
                few.setdefault(labels, []).extend((self.schemas.of(names), row) for row in rows)
            else:
                out += [block.wide(names, None, b"".join(chunk), labels) for chunk in chunks(rows, BLOCK // (16 + 8 * len(names)))]
        for labels, pairs in few.items():
            out += [_long(chunk, labels) for chunk in chunks(pairs, BLOCK // 64)]
        for (names, kinds, labels), mixed in self._mixed.items():
            out.append(block.wide(names, kinds, b"".join(mixed.rows), labels, mixed.partials))
        return out


def _long(rows: Iterable[tuple[Schema, bytes]], labels: Labels) -> bytes:
    index: dict[str, int] = {}
    values = Values()
    for schema, row in rows:
        step, time_ns, *numbers = schema.unpack(row)
        for name, number in zip(schema.names, numbers, strict=True):
            values.step.append(step)
            values.time_ns.append(time_ns)
            values.index.append(index.setdefault(name, len(index)))
            values.value.append(number)
    return block.long(list(index), None, values, labels)


def chunks(rows: Sequence[Any], most: int) -> list[Any]:
    most = max(most, 1)
    return [rows] if len(rows) <= most else [rows[i : i + most] for i in range(0, len(rows), most)]
