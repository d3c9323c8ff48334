"""What the reading process sends: items as frames of a JSON head and, for numbers, raw arrays.

No frame can run code where it is read, and every field is checked there: the sender has read a
hostile file. A frame is the length of its head, the length of its body, the head, the body.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope import strict_json
from rollscope.sources import Item, Keep, Mark, Points, Records, Restart, RunStart, Skipped
from rollscope.store.schema import TABLES

LENGTHS = struct.Struct("<II")
LARGEST = 1 << 30  # bytes of a head or a body
VALUES = 1 << 19  # values in a frame of points
ROWS = 256  # rows in a frame of records
LONGEST = 500  # characters of a sentence about a problem
TEXTS = {
    name: frozenset(column.name for column in columns if column.big and column.type == "string")
    for name, columns in TABLES.items()
}
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


class BadFrame(ValueError):
    """The frame is not one that `encode` makes."""


def pack(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(head, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass")
    if max(len(text), len(body)) > LARGEST:
        raise ValueError(f"a row has more than {LARGEST >> 20} MB")
    return LENGTHS.pack(len(text), len(body)) + text + body


def _plain(value: Any) -> Any:
    return strict_json.plain(value, surrogates=True)


def encode(item: Item) -> Iterator[bytes]:
    """The frames of an item. A row that no frame can carry becomes a `Skipped`."""
    match item:
        case Points():
            yield from _points(item)
        case Records():
            for start in range(0, len(item.rows), ROWS):
                yield from _records(item.table, item.rows[start : start + ROWS])
        case RunStart():
            yield pack({"is": "run", "id": item.id, "kind": item.kind, "facts": item.facts, "alone": item.alone})
        case Mark():
            yield pack({"is": "mark", "cursor": item.cursor, "done": item.done, "total": item.total})
        case Skipped():
            why = item.why if len(item.why) <= LONGEST else item.why[:LONGEST] + " ..."
            yield pack({"is": "skipped", "why": why, "path": str(item.path), "offset": item.offset})
        case Restart():
            yield pack({"is": "restart", "why": item.why})
        case Keep():
            yield pack({"is": "keep", "name": item.name})


def _points(points: Points) -> Iterator[bytes]:
    wide = points.index is None
    rows = max(1, VALUES // max(1, len(points.names))) if wide else VALUES
    labels = {"split": points.split, "rank": points.rank, "clock": points.clock}
    for start in range(0, len(points.step), rows):
        cut = slice(start, start + rows)
        names, index = (points.names, b"") if points.index is None else _used(points.names, points.index[cut])
        step, time_ns = (np.asarray(array[cut], "<i8").tobytes() for array in (points.step, points.time_ns))
        values = np.asarray(points.values[cut], "<f8").tobytes()
        head = {"is": "points", "names": list(names), "rows": len(points.step[cut]), "wide": wide, **labels}
        yield pack(head, b"".join((step, time_ns, values, index)))


def _used(names: Sequence[str], index: NDArray[Any]) -> tuple[Sequence[str], bytes]:
    """The names that an index uses, if there are many others, and the index into them."""
    if len(names) > len(index):
        used, index = np.unique(index, return_inverse=True)
        names = [names[i] for i in used.tolist()]
    return names, index.astype("<u4").tobytes()


def _records(table: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    try:
        short, lengths, body = _apart(table, rows)
        yield pack({"is": "records", "table": table, "rows": short, "texts": lengths}, body)
    except (TypeError, ValueError, RecursionError) as error:
        if len(rows) > 1:
            for row in rows:
                yield from _records(table, [row])
            return
        try:
            yield pack({"is": "records", "table": table, "rows": _plain(rows)})
        except (TypeError, ValueError, RecursionError):
            yield pack(
                {"is": "skipped", "why": f"a row of {table} cannot be kept ({error})", "path": "", "offset": None}
            )


def _apart(table: str, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Any], dict[str, list[int]], bytes]:
    """The rows without their texts, the length of each text (-1: none), and the texts.

    As bytes they cost a copy, as JSON a look at every character.
    """
    names = [name for name in TEXTS.get(table, ()) if any(isinstance(row.get(name), str) for row in rows)]
    short, lengths, parts = list(rows), dict[str, list[int]](), list[bytes]()
    for name in names:
        texts = [
            value.encode("utf-8", "surrogatepass") if isinstance(value := row.get(name), str) else None for row in rows
        ]
        lengths[name] = [-1 if text is None else len(text) for text in texts]
        parts += [text for text in texts if text is not None]
    if names:
        short = [
            {key: value for key, value in row.items() if key not in names or not isinstance(value, str)} for row in rows
        ]
    return short, lengths, b"".join(parts)


def _together(rows: list[dict[str, Any]], lengths: Mapping[str, list[int]], body: bytes) -> list[dict[str, Any]]:
    """The rows with their texts. Raises `BadFrame` if the body does not hold them exactly."""
    at = 0
    for name, sizes in lengths.items():
        if len(sizes) != len(rows) or not all(type(size) is int and size >= -1 for size in sizes):
            raise BadFrame("the texts are not those of the rows")
        for row, size in zip(rows, sizes, strict=True):
            if size >= 0:
                row[name] = body[at : at + size].decode("utf-8", "surrogatepass")
                at += size
    if at != len(body):
        raise BadFrame("the texts do not have the announced size")
    return rows


def unpack(head: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(head.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    if not isinstance(fields, dict):
        raise BadFrame("a head is not an object")
    return fields


def decode(head: Mapping[str, Any], body: bytes, path: Path) -> Item:
    """The item of a frame. Raises `BadFrame`. `path` is the file that is read."""
    try:
        return _decode(head, body, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFrame(f"a frame {head.get('is')!r} is malformed ({error!r})") from error


def _decode(head: Mapping[str, Any], body: bytes, path: Path) -> Item:
    match head["is"]:
        case "points":
            return _read_points(head, body)
        case "records":
            if head["table"] not in TABLES or not all(isinstance(row, dict) for row in head["rows"]):
                raise BadFrame("records of an unknown table")
            return Records(head["table"], _together(head["rows"], head.get("texts", {}), body))
        case "run":
            if not ID.fullmatch(head["id"]):
                raise BadFrame(f"{head['id']!r} is not the id of a run")
            alone = None if head["alone"] is None else str(head["alone"])
            return RunStart(id=head["id"], kind=str(head["kind"]), facts=dict(head["facts"]), alone=alone)
        case "mark":
            return Mark(head["cursor"], int(head["done"]), int(head["total"]))
        case "skipped":
            offset = None if head["offset"] is None else int(head["offset"])
            return Skipped(str(head["why"]), Path(head["path"]) if head["path"] else path, offset)
        case "restart":
            return Restart(str(head["why"]))
        case "keep":
            if not ID.fullmatch(head["name"]):
                raise BadFrame(f"{head['name']!r} is not the name of a file")
            return Keep(head["name"])
        case other:
            raise BadFrame(f"an unknown frame {other!r}")


def _read_points(head: Mapping[str, Any], body: bytes) -> Points:
    names, rows, wide = head["names"], int(head["rows"]), bool(head["wide"])
    if not all(isinstance(name, str) for name in names):
        raise BadFrame("a name is not a text")
    count = rows * len(names) if wide else rows
    if len(body) != 16 * rows + 8 * count + (0 if wide else 4 * rows):
        raise BadFrame("the arrays do not have the announced size")
    step, time_ns = (np.frombuffer(body, "<i8", rows, at) for at in (0, 8 * rows))
    values = np.frombuffer(body, "<f8", count, 16 * rows)
    index = None if wide else np.frombuffer(body, "<u4", rows, 16 * rows + 8 * count)
    if index is not None and rows and int(index.max()) >= len(names):
        raise BadFrame("a value has no name")
    labels = {"split": str(head["split"]), "rank": int(head["rank"]), "clock": head["clock"]}
    return Points(names, step, time_ns, values.reshape(rows, -1) if wide else values, index, **labels)
