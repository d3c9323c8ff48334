"""Calls to `log()` into blocks of the log. Calls with the same names lie in one matrix; names that come and go are written one value a row."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rollscope.record.caller.value import cell
from rollscope.store.log import block
from rollscope.store.log.block import Labels, Partials, Values

BLOCK = 256 * 1024  # bytes a block aims at: what one damaged byte costs
FEW = 16  # values: a matrix smaller than this is not worth a list of names of its own
SCHEMAS = 4096


class Schema:
    """A list of names, and how a row of their values is packed."""

    __slots__ = ("names", "pack", "size", "unpack")

    def __init__(self, names: tuple[str, ...]) -> None:
        form = struct.Struct(f"<qq{len(names)}d")
        self.names = tuple(map(str, names))
        self.pack = form.pack
        self.unpack = form.unpack
        self.size = form.size

    def values(self, row: bytes) -> dict[str, float]:
        return dict(zip(self.names, self.unpack(row)[2:], strict=True))


class Schemas:
    """Schemas by their names. Bounded: names that never come again are forgotten."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Schema] = {}

    def of(self, names: tuple[str, ...]) -> Schema:
        found = self._known.get(names)
        if found is None:
            if len(self._known) >= SCHEMAS:
                self._known = {}
            found = Schema(names)
            self._known[names] = found
        return found


@dataclass(slots=True)
class _Mixed:
    """Rows of one list of names where some are partials or large whole numbers."""

    rows: list[bytes] = field(default_factory=list)
    held: int = 0
    partials: Partials = field(default_factory=Partials)


@dataclass(slots=True)
class Metrics:
    """Gathers the calls of one flush."""

    schemas: Schemas
    held: int = 0  # bytes
    _plain: dict[tuple[Schema, int], tuple[Labels, list[bytes]]] = field(default_factory=dict)
    _mixed: dict[tuple[tuple[str, ...], tuple[str, ...], Labels], _Mixed] = field(default_factory=dict)

    def add_floats(self, step: int, time_ns: int, values: dict[str, float], labels: Labels) -> None:
        schema = self.schemas.of(tuple(values))
        self.rows(schema, labels).append(schema.pack(step, time_ns, *values.values()))
        self.held += schema.size

    def add_packed(self, schema: Schema, labels: Labels, row: bytes) -> None:
        self.rows(schema, labels).append(row)
        self.held += schema.size

    def rows(self, schema: Schema, labels: Labels) -> list[bytes]:
        key = (schema, id(labels))  # labels are made once each; hashing them for every call is not worth it
        found = self._plain.get(key)
        if found is None:
            found = self._plain[key] = (labels, [])
        return found[1]

    def add_mixed(self, step: int, time_ns: int, values: dict[str, Any], labels: Labels) -> None:
        cells = [cell(value) for value in values.values()]
        kinds = tuple(c[1] for c in cells)
        if kinds.count("scalar") == len(kinds):
            self.add_floats(step, time_ns, {name: c[0] for name, c in zip(values, cells, strict=True)}, labels)
            return
        row = self.schemas.of(tuple(values)).pack(step, time_ns, *(c[0] for c in cells))
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
        """Blocks to write; what one holds is given up when the next is asked for, so a block that was not taken comes again."""
        few: dict[Labels, list[tuple[Schema, bytes]]] = {}
        for key, (labels, rows) in list(self._plain.items()):
            schema = key[0]
            if len(schema.names) * len(rows) <= FEW:
                few.setdefault(labels, []).extend((schema, row) for row in rows)
                continue
            most = max(1, BLOCK // schema.size)
            while rows:
                yield block.wide(schema.names, None, b"".join(rows[:most]), labels)
                self.held -= schema.size * len(rows[:most])
                del rows[:most]
            del self._plain[key]
        for labels, pairs in few.items():
            yield _long(pairs, labels)
            for schema, row in pairs:
                self._plain.pop((schema, id(labels)), None)
                self.held -= len(row)
        for kind, mixed in list(self._mixed.items()):
            names, kinds, labels = kind
            yield block.wide(names, kinds, b"".join(mixed.rows), labels, mixed.partials)
            del self._mixed[kind]
            self.held -= mixed.held


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
