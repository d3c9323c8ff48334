"""Protocol buffers without the library: the fields of a message."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any


class Malformed(ValueError):
    """The bytes are not a message."""


# Exceptions that a complete record with unexpected content can raise.
UNEXPECTED = (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError, struct.error)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset behind it."""
    result = shift = 0
    while True:
        try:
            byte = data[at]
        except IndexError:
            raise Malformed("a number runs past the end") from None
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 64 bits")


def signed(value: int) -> int:
    """An int64 as protocol buffers write it."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: bytes, at: int = 0, end: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield (field number, value). Varints are int; strings, messages and fixed sizes are bytes."""
    end = len(data) if end is None else end
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise Malformed(f"a field has the unknown kind {kind}")
        if at + size > end:
            raise Malformed("a field runs past the end")
        yield key >> 3, data[at : at + size]
        at += size


def double(raw: bytes) -> float:
    return float(struct.unpack("<d", raw)[0])


def float32(raw: bytes) -> float:
    return float(struct.unpack("<f", raw)[0])


def first(data: bytes, number: int, default: Any = None) -> Any:
    return next((value for field, value in fields(data) if field == number), default)


def text(data: bytes, number: int) -> str:
    value = first(data, number, b"")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def timestamp_ns(data: bytes) -> int:
    """A google.protobuf.Timestamp as nanoseconds."""
    parts = dict(fields(data))
    return signed(parts.get(1, 0)) * 10**9 + int(parts.get(2, 0))
