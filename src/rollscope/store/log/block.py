"""The payload of a frame: a JSON head, then the little-endian arrays that it describes.

There are three kinds of blocks. `metrics` holds values, either wide (one row per call over a list
of names) or long (one row per value). `table` holds columns of a table of `schema.py`. `meta` names
the writer at the start of a file and marks its end when it is closed. Every block can be read
alone. `docs/format.md` is the specification.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.schema import TABLES

from .column import LISTS, NULL, NUMBERS, Cells, encode
from .frame import padded
from .lists import ColumnValues, Lists
from .secret import HIDDEN_IN, hide_row

__all__ = ["LISTS", "NULL", "NUMBERS", "Block", "Cells", "Labels", "Meta", "Metrics", "Partials", "Table", "Values"]
__all__ += ["columns", "long", "meta", "pack", "read", "row_type", "table", "unpack", "wide"]


def pack(head: Mapping[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """Encode a payload: u32 length of the head, the head as JSON, then the parts.

    Head and parts are padded to 8 bytes. The head's `parts` lists the lengths of the parts.
    """
    text = json.dumps({**head, "parts": [len(p) for p in parts]}, separators=(",", ":")).encode()
    return b"".join((padded(struct.pack("<I", len(text)) + text), *map(padded, parts)))


def unpack(payload: memoryview) -> tuple[dict[str, Any], list[memoryview]]:
    (length,) = struct.unpack_from("<I", payload)
    head = json.loads(bytes(payload[4 : 4 + length]))
    parts, at = [], (4 + length + 7) & ~7
    if min(head["parts"], default=0) < 0:
        raise ValueError("a part has a negative length")
    for size in head["parts"]:
        parts.append(payload[at : at + size])
        at += (size + 7) & ~7
    return head, parts


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that all values of a metrics block share."""

    attempt: int = 1
    rank: int = 0
    env: str | None = None
    split: str = "train"
    clock: str | None = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """A decoded metrics block of R rows over N names.

    In a wide block `index` is None and `values` is [R, N]; in a long block `values` is [R] and
    value i belongs to `names[index[i]]`. `weights` and `lengths` have the shape of `values`, or are
    None when every value is a plain number. `states` holds the partials' numbers in row-major
    order, as many per value as `lengths` says.
    """

    names: list[str]
    kinds: list[str]
    step: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    index: NDArray[np.uint32] | None
    weights: NDArray[np.float64] | None
    lengths: NDArray[np.uint32] | None
    states: NDArray[np.float64] | None
    labels: Labels
    offset: int = 0
    number: int = 0


def row_type(names: int) -> np.dtype[Any]:
    """The dtype of one row of a wide block: step, time and values side by side."""
    return np.dtype([("step", "<i8"), ("time_ns", "<i8"), ("values", "<f8", (names,))])


@dataclass(slots=True)
class Partials:
    """Weights and states of the values of one block, in their order."""

    weights: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    states: list[float] = field(default_factory=list)

    def parts(self) -> tuple[bytes, bytes, bytes]:
        return (
            np.array(self.weights, "<f8").tobytes(),
            np.array(self.lengths, "<u4").tobytes(),
            np.array(self.states, "<f8").tobytes(),
        )


def wide(
    names: Sequence[str], kinds: Sequence[str] | None, rows: bytes, labels: Labels, partials: Partials | None = None
) -> bytes:
    """Encode a wide block of `row_type(len(names))` records; `kinds` is None if all are scalars."""
    count = len(rows) // (16 + 8 * len(names))
    return _metrics("wide", names, kinds, count, labels, [rows], partials)


@dataclass(slots=True)
class Values:
    """The rows of a long block: one value each."""

    step: list[int] = field(default_factory=list)
    time_ns: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def parts(self) -> list[bytes]:
        pairs = ((self.step, "<i8"), (self.time_ns, "<i8"), (self.index, "<u4"), (self.value, "<f8"))
        return [np.array(values, dtype).tobytes() for values, dtype in pairs]


def long(
    names: Sequence[str], kinds: Sequence[str] | None, values: Values, labels: Labels, partials: Partials | None = None
) -> bytes:
    """Encode a long block, for names that do not come as the same list twice."""
    return _metrics("long", names, kinds, len(values.step), labels, values.parts(), partials)


def _metrics(
    layout: str,
    names: Sequence[str],
    kinds: Sequence[str] | None,
    rows: int,
    labels: Labels,
    parts: list[bytes],
    partials: Partials | None,
) -> bytes:
    head = {"block": "metrics", "layout": layout, "rows": rows, "names": list(names), "kinds": kinds and list(kinds)}
    head |= {"attempt": labels.attempt, "rank": labels.rank, "env": labels.env}
    head |= {"split": labels.split, "clock": labels.clock}
    return pack(head, parts + list(partials.parts() if partials else ()))


def _read_metrics(head: dict[str, Any], parts: list[memoryview], offset: int, number: int) -> Metrics:
    names, rows = head["names"], head["rows"]
    index = None
    if head["layout"] == "wide":
        table = np.frombuffer(parts[0], row_type(len(names)))
        step, time_ns, values, rest = table["step"], table["time_ns"], table["values"], parts[1:]
    elif head["layout"] == "long":
        step, time_ns = np.frombuffer(parts[0], "<i8"), np.frombuffer(parts[1], "<i8")
        index, values, rest = np.frombuffer(parts[2], "<u4"), np.frombuffer(parts[3], "<f8"), parts[4:]
    else:
        raise ValueError(f"its layout is {head['layout']!r}")
    if len(step) != rows:
        raise ValueError(f"it says {rows!r} rows and has {len(step)}")
    weights = lengths = states = None
    if rest:
        weights = np.frombuffer(rest[0], "<f8").reshape(values.shape)
        lengths = np.frombuffer(rest[1], "<u4").reshape(values.shape)
        states = np.frombuffer(rest[2], "<f8")
    kinds = head["kinds"] or ["scalar"] * len(names)
    labels = Labels(head["attempt"], head["rank"], head["env"], head["split"], head["clock"])
    return Metrics(names, kinds, step, time_ns, values, index, weights, lengths, states, labels, offset, number)


@dataclass(frozen=True, slots=True)
class Table:
    """A decoded table block. Columns without values are absent."""

    table: str
    rows: int
    columns: dict[str, Cells]
    offset: int = 0
    number: int = 0

    def records(self) -> list[dict[str, Any]]:
        columns = {name: cells.values() for name, cells in self.columns.items()}
        return [{name: cell[i] for name, cell in columns.items() if cell[i] is not None} for i in range(self.rows)]


@dataclass(frozen=True, slots=True)
class Meta:
    """Facts about the file: `open` (writer, pid, ...) at its start, `end` when it is closed."""

    what: str
    facts: dict[str, Any]
    offset: int = 0
    number: int = 0


Block = Metrics | Table | Meta


def meta(what: str, facts: Mapping[str, Any]) -> bytes:
    return pack({"block": "meta", "what": what, "facts": facts})


def table(name: str, rows: Sequence[Mapping[str, Any]], same: Mapping[str, Any] | None = None) -> bytes:
    """Encode rows of a table; `same` holds columns that have one value in all rows.

    Values have the types of `schema.py`; JSON may be an object or text.
    """
    rows = [hide_row(name, row) for row in rows] if name in HIDDEN_IN else rows
    return columns(name, len(rows), _columns(rows), same)


def columns(name: str, rows: int, given: Mapping[str, ColumnValues], same: Mapping[str, Any] | None = None) -> bytes:
    """Encode columns of a table as `table` does: one value a row, None where there is none.

    It hides no secrets: tables in `HIDDEN_IN` go through `table`, which does so row by row.
    """
    described: list[Any] = []
    parts: list[bytes] = []
    for column in TABLES[name]:
        if same and column.name in same:
            described.append([column.name, column.type, "const", 0, same[column.name]])
            continue
        values = given.get(column.name)
        if values is None or (type(values) is not Lists and all(value is None for value in values)):
            continue
        encoding, arrays = encode(column.type, values, column.big)
        described.append([column.name, column.type, encoding, len(arrays)])
        parts += arrays
    return pack({"block": "table", "table": name, "rows": rows, "columns": described}, parts)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of every column; rows of one call mostly have the same keys in the same order."""
    names = [*rows[0]] if rows else []
    if all([*row] == names for row in rows):
        return dict(zip(names, map(list, zip(*[row.values() for row in rows], strict=True)), strict=True))
    return {name: [row.get(name) for row in rows] for name in set().union(*rows)}


def read(payload: memoryview, offset: int, number: int) -> Block:
    """Decode the block in a frame's payload."""
    head, parts = unpack(payload)
    if head["block"] == "metrics":
        return _read_metrics(head, parts, offset, number)
    if head["block"] == "meta":
        return Meta(head["what"], head["facts"], offset, number)
    if head["block"] != "table":
        raise ValueError(f"it is a block of {head['block']!r}")
    columns: dict[str, Cells] = {}
    at = 0
    for name, type, encoding, count, *const in head["columns"]:
        if name in columns:
            raise ValueError(f"it has the column {name!r} twice")
        columns[name] = Cells(name, type, encoding, head["rows"], parts[at : at + count], const[0] if const else None)
        at += count
    return Table(head["table"], head["rows"], columns, offset, number)
