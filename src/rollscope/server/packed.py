"""Columns on the wire: `u32 header length, JSON header, columns`, each column aligned to 8 bytes from the end of the header.

A quarter of the bytes of JSON and a third of the time; the browser makes typed arrays over the buffer without copying.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from starlette.responses import Response

TYPES = {"float32": "f32", "float64": "f64", "uint32": "u32", "int32": "i32", "uint8": "u8"}
MEDIA_TYPE = "application/vnd.rollscope.columns"


def pack(head: Mapping[str, Any], columns: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    placed, parts, at = [], [], 0
    for name, column in columns.items():
        flat = np.ascontiguousarray(column).reshape(-1)
        data = flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
        placed.append({"name": name, "type": TYPES[flat.dtype.name], "length": flat.size, "at": at})
        room = -len(data) % 8
        parts.append(data + bytes(room))
        at += len(data) + room
    header = json.dumps({**head, "columns": placed}, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-(len(header) + 4) % 8)
    return b"".join([struct.pack("<I", len(header)), header, *parts])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """What the browser does, for tests and for Python clients."""
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    names = {short: long for long, short in TYPES.items()}
    columns = {
        c["name"]: np.frombuffer(data, names[c["type"]], c["length"], 4 + length + c["at"]) for c in head["columns"]
    }
    return head, columns


def reply(head: Mapping[str, Any], columns: Mapping[str, np.ndarray[Any, Any]]) -> Response:
    return Response(pack(head, columns), media_type=MEDIA_TYPE, headers={"cache-control": "no-store"})
