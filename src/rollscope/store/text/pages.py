"""The pages of a text column of a sealed set, as bytes: a search need make rows only of those that hold what it looks for.

What `parquet.py` writes is understood: LZ4, data pages of version 1, texts that lie plain or in a dictionary.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.store.sealed.file import SealedFile

from .phrase import Bounds, Bytes

DATA, DICTIONARY = 0, 2  # kinds of pages
PLAIN = 0  # an encoding
WORDS = (2, 8)  # encodings in which a page has numbers of words of the dictionary
_length = struct.Struct("<I").unpack_from
_BOOLS, _INTS, _BINARY, _STRUCT = (1, 2), (4, 5, 6), 8, 12  # types of Thrift's compact protocol


class Unknown(ValueError):
    """A page that somebody else wrote."""


@dataclass(frozen=True, slots=True)
class Page:
    """Texts, each behind its length in four bytes. `levels` say which rows have one; a dictionary has none."""

    dictionary: bool
    first: int  # its first row in the row group
    rows: int
    levels: bytes
    data: Bytes

    def bounds(self) -> Bounds:
        """Where each text begins and ends."""
        raw, size, at = self.data.data, len(self.data), 0
        starts, ends = [], []
        while at < size:
            start = at + 4
            at = start + _length(raw, at)[0]
            starts.append(start)
            ends.append(at)
        return starts, ends

    def places(self) -> list[int]:
        """The row of each text."""
        at, parts = 0, [np.empty(0, np.uint8)]
        while at < len(self.levels):
            run, at = _varint(self.levels, at)
            if run & 1:
                parts.append(np.unpackbits(np.frombuffer(self.levels, np.uint8, run >> 1, at), bitorder="little"))
                at += run >> 1
            else:
                parts.append(np.full(run >> 1, self.levels[at], np.uint8))
                at += 1
        found: list[int] = (self.first + np.flatnonzero(np.concatenate(parts)[: self.rows])).tolist()
        return found


def pages(file: SealedFile, group: int, column: str) -> Iterator[Page]:
    """The pages of a column that hold text: those that count words of its dictionary do not."""
    raw, row, at = _chunk(file, group, column), 0, 0
    while at < len(raw):
        head, begin = _struct(raw, at)
        at = begin + head[3]
        about = head.get(5) or head.get(7)
        if head[1] not in (DATA, DICTIONARY) or about is None or about[2] not in (PLAIN, *WORDS):
            raise Unknown(f"{file.path}: a page of kind {head[1]} in row group {group} of {column}")
        if head[1] == DICTIONARY:
            yield Page(True, 0, about[1], b"", _plain(raw[begin:at], head[2]))
            continue
        if about[2] == PLAIN:
            whole = _plain(raw[begin:at], head[2])
            skip = 4 + int.from_bytes(whole[:4].tobytes(), "little")
            yield Page(False, row, about[1], whole[4:skip].tobytes(), whole[skip:])
        row += about[1]


def _chunk(file: SealedFile, group: int, column: str) -> memoryview:
    leaf = file.leaves[column]
    about = file.metadata.row_group(group).column(leaf)
    if about.compression != "LZ4" or file.metadata.schema.column(leaf).max_definition_level != 1:
        raise Unknown(f"{file.path}: {column} is compressed by {about.compression}, or nested, or nowhere null")
    start = (
        about.data_page_offset
        if about.dictionary_page_offset is None
        else min(about.dictionary_page_offset, about.data_page_offset)
    )
    with open(file.path, "rb", buffering=0) as opened:
        return memoryview(os.pread(opened.fileno(), about.total_compressed_size, start))


def _plain(raw: memoryview, size: int) -> Bytes:
    found = pa.Codec("lz4_raw").decompress(pa.py_buffer(raw), size) if size else b""
    return np.frombuffer(found, np.uint8)


def _struct(raw: memoryview, at: int) -> tuple[Mapping[int, Any], int]:
    """A struct of Thrift's compact protocol by its field numbers, and where it ends."""
    found: dict[int, Any] = {}
    field = 0
    while raw[at]:
        step, kind, at = raw[at] >> 4, raw[at] & 15, at + 1
        if not step:
            raise Unknown("a field number that is not counted on")
        field += step
        if kind in _BOOLS:
            found[field] = kind == 1
        elif kind in _INTS:
            number, at = _varint(raw, at)
            found[field] = (number >> 1) ^ -(number & 1)
        elif kind == _BINARY:
            length, at = _varint(raw, at)
            at += length
        elif kind == _STRUCT:
            found[field], at = _struct(raw, at)
        else:
            raise Unknown(f"a field of type {kind}")
    return found, at + 1


def _varint(raw: memoryview | bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = raw[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
