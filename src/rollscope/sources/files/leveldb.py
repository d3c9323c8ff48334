"""LevelDB's log format, as W&B and SwanLab write it: 32 kB blocks, checksummed chunks.

A chunk that fails its checksum loses the rest of its block; reading goes on at the next block.
A record that is cut off at the end comes from a writer that died, or that is still writing.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 32768
HEAD = struct.Struct("<IHB")  # crc32 of type and data, length, type
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
TAIL = "the file ends in the middle of a record; it is imported once it is complete"
LARGEST = 64 << 20  # bytes of a record that is read
SEED = [zlib.crc32(bytes([kind])) for kind in range(5)]


@dataclass(frozen=True, slots=True)
class Record:
    data: bytes
    offset: int
    end: int  # offset of the next record


@dataclass(frozen=True, slots=True)
class Bad:
    """Damage, where it begins, and why it was not read."""

    offset: int
    why: str


def records(file: BinaryIO, start: int) -> Iterator[Record | Bad]:
    """Every complete record from an offset on (7 for a new file: after the file's head).

    Reading ends at the size that the file has now: it may grow while it is read.
    """
    size_now = file.seek(0, os.SEEK_END)
    file.seek(start - start % BLOCK)
    base, at = start - start % BLOCK, start % BLOCK
    parts: list[bytes] = []
    begun = start
    while base < size_now and (block := file.read(BLOCK)):
        while BLOCK - at >= HEAD.size and at + HEAD.size <= len(block):
            crc, size, kind = HEAD.unpack_from(block, at)
            stop = at + HEAD.size + size
            if stop > len(block):
                if len(block) < BLOCK:
                    yield Bad(base + at, TAIL)
                    return
                yield Bad(base + at, f"a chunk of {size} bytes does not fit its block")
                break
            data = block[at + HEAD.size : stop]
            if not 1 <= kind <= 4 or zlib.crc32(data, SEED[kind]) != crc:
                yield Bad(base + at, "a chunk fails its checksum")
                parts, at = [], len(block)
                break
            if kind in (FULL, FIRST):
                if parts:
                    yield Bad(begun, "a record has no end")
                parts, begun = [], base + at
            elif not parts:  # its first chunk was lost with a damaged block
                at = stop
                continue
            parts.append(data)
            at = stop
            if base + at - begun > LARGEST:
                yield Bad(begun, f"a record has more than {LARGEST >> 20} MB")
                parts = []
                continue
            if kind in (FULL, LAST):
                yield Record(b"".join(parts), begun, base + at)
                parts = []
        if len(block) < BLOCK and at != len(block) and BLOCK - at >= HEAD.size:
            yield Bad(base + at, TAIL)
        base, at = base + BLOCK, 0
    if parts:
        yield Bad(begun, TAIL)
