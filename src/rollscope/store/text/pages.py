"""The pages of a text column of a sealed set, as bytes, so a search builds rows only for matches.

Reads what `parquet.py` writes: LZ4, data pages of version 1, texts stored plain or in a dictionary.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.store import regular_file
from rollscope.store.sealed.checksum import chunk_start
from rollscope.store.sealed.file import SealedFile

from .phrase import Bounds, Bytes

DATA, DICTIONARY = 0, 2  # kinds of pages
PLAIN = 0  # an encoding
WORDS = (2, 8)  # encodings of pages that refer to the dictionary
_length = struct.Struct("<I").unpack_from
_BOOLS, _INTS, _BINARY, _STRUCT = (1, 2), (4, 5, 6), 8, 12  # types of Thrift's compact protocol


class Unknown(ValueError):
    """A page of a form that `parquet.py` does not write."""


@dataclass(frozen=True, slots=True)
class Page:
    """Texts, each after its length in four bytes. `levels` tell which rows have one.

    A dictionary page has no levels.
    """

    dictionary: bool
    first: int  # its first row in the row group
    rows: int
    levels: bytes
    data: Bytes

    def bounds(self) -> Bounds:
        """The offsets at which each text begins and ends."""
        raw, size, at = self.data.data, len(self.data), 0
        starts, ends = [], []
        while at < size:
            start = at + 4
            at = start + _length(raw, at)[0]
            starts.append(start)
            ends.append(at)
        return starts, ends

    def row_numbers(self) -> list[int]:
        """The row of each text in the row group."""
        at, parts = 0, [np.empty(0, np.uint8)]
        while at < len(self.levels):
            header, at = _varint(self.levels, at)
            count = header >> 1
            if header & 1:
                parts.append(np.unpackbits(np.frombuffer(self.levels, np.uint8, count, at), bitorder="little"))
                at += count
            else:
                parts.append(np.full(count, self.levels[at], np.uint8))
                at += 1
        rows: list[int] = (self.first + np.flatnonzero(np.concatenate(parts)[: self.rows])).tolist()
        return rows


def pages(file: SealedFile, group: int, column: str) -> Iterator[Page]:
    """The pages of a column that contain text; pages that refer to its dictionary are skipped."""
    raw, row, at = _chunk(file, group, column), 0, 0
    while at < len(raw):
        head, begin = _struct(raw, at)
        at = begin + head[3]
        about = head.get(5) or head.get(7)
        if head[1] not in (DATA, DICTIONARY) or about is None or about[2] not in (PLAIN, *WORDS):
            raise Unknown(f"{file.path}: a page of kind {head[1]} in row group {group} of {column}")
        if head[1] == DICTIONARY:
            yield Page(True, 0, about[1], b"", _decompressed(raw[begin:at], head[2]))
            continue
        if about[2] == PLAIN:
            data = _decompressed(raw[begin:at], head[2])
            skip = 4 + int.from_bytes(data[:4].tobytes(), "little")
            yield Page(False, row, about[1], data[4:skip].tobytes(), data[skip:])
        row += about[1]


def _chunk(file: SealedFile, group: int, column: str) -> memoryview:
    """The bytes of a column in a row group."""
    leaf = file.leaves[column]
    chunk = file.metadata.row_group(group).column(leaf)
    if chunk.compression != "LZ4" or file.metadata.schema.column(leaf).max_definition_level != 1:
        raise Unknown(f"{file.path}: {column} is compressed by {chunk.compression}, or nested, or never null")
    with regular_file.opened(file.path) as opened:
        return memoryview(os.pread(opened.fileno(), chunk.total_compressed_size, chunk_start(chunk)))


def _decompressed(raw: memoryview, size: int) -> Bytes:
    data = pa.Codec("lz4_raw").decompress(pa.py_buffer(raw), size) if size else b""
    return np.frombuffer(data, np.uint8)


def _struct(raw: memoryview, at: int) -> tuple[Mapping[int, Any], int]:
    """Decode a struct of Thrift's compact protocol: field number -> value, and its end offset."""
    fields: dict[int, Any] = {}
    field = 0
    while raw[at]:
        step, kind, at = raw[at] >> 4, raw[at] & 15, at + 1
        if not step:
            raise Unknown("a field number in long form")
        field += step
        if kind in _BOOLS:
            fields[field] = kind == 1
        elif kind in _INTS:
            number, at = _varint(raw, at)
            fields[field] = (number >> 1) ^ -(number & 1)
        elif kind == _BINARY:
            length, at = _varint(raw, at)
            at += length
        elif kind == _STRUCT:
            fields[field], at = _struct(raw, at)
        else:
            raise Unknown(f"a field of type {kind}")
    return fields, at + 1


def _varint(raw: memoryview | bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = raw[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
