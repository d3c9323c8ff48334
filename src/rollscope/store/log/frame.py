"""Frames in a byte stream: each block is returned whole and checked, or reported as damage.

A frame is a 32-byte header (magic, the file's salt, block number, payload length, checksum of the
payload, checksum of the header) and a payload padded to 8 bytes. Both checksums are CRC-32. The
salt is drawn per file, so text inside a payload can never pass for a frame. Damage costs one frame:
reading continues at the next valid header. A frame that reaches beyond the end of the file is the
unfinished write of a live or killed process, not damage. `docs/format.md` is the specification.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"\xf1RSLOG1\n"
# magic, salt, number, payload length, crc32 of the payload, crc32 of the 28 bytes before this field
HEADER = struct.Struct("<8sQIIII")
LARGEST = 0xFFFFFFF0  # payload length is a u32


@dataclass(frozen=True, slots=True)
class Frame:
    offset: int
    number: int
    payload: memoryview


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a file that could not be read."""

    path: str
    offset: int
    length: int
    says: str

    def __str__(self) -> str:
        return f"{self.path}: {self.length} bytes at offset {self.offset} cannot be read: {self.says}"


def header(salt: int, number: int, payload: bytes) -> bytes:
    """The 32 bytes before a payload, whose length must be a multiple of 8."""
    assert len(payload) % 8 == 0 and len(payload) <= LARGEST, f"a payload of {len(payload)} bytes cannot be framed"
    start = struct.pack("<8sQIII", MAGIC, salt, number, len(payload), zlib.crc32(payload))
    return start + struct.pack("<I", zlib.crc32(start))


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


@dataclass(frozen=True, slots=True)
class _Head:
    salt: int
    number: int
    length: int
    crc: int


def _head(data: memoryview, at: int) -> _Head | None:
    """The header at an offset, or None if there is no valid one."""
    if at + HEADER.size > len(data):
        return None
    magic, salt, number, length, crc, own = HEADER.unpack_from(data, at)
    if magic != MAGIC or own != zlib.crc32(data[at : at + 28]) or length % 8:
        return None
    return _Head(salt, number, length, crc)


def salt_of(data: bytes | memoryview) -> int | None:
    """The salt of a file, from its first valid header."""
    at = _next(bytes(data[: HEADER.size]), memoryview(data), 0, None)
    if at is None:
        at = _next(bytes(data), memoryview(data), 0, None)
    head = None if at is None else _head(memoryview(data), at)
    return None if head is None else head.salt


def _next(raw: bytes, data: memoryview, start: int, salt: int | None) -> int | None:
    """The offset of the next valid header, at or after `start`."""
    at = raw.find(MAGIC, start)
    while at >= 0:
        head = _head(data, at)
        if head is not None and (salt is None or head.salt == salt):
            return at
        at = raw.find(MAGIC, at + 1)
    return None


def frames(raw: bytes, salt: int | None, path: str = "", base: int = 0) -> Iterator[Frame | Damage]:
    """Yield every whole frame of `raw` in order, and the damage between frames.

    `base` is the file offset of the first byte. Bytes at the end that may still become a frame are
    skipped: the last frame or damage tells how far reading got.
    """
    data = memoryview(raw)
    at = 0
    while at < len(data):
        head = _head(data, at)
        if head is None or head.salt != salt:
            after = _next(raw, data, at + 1, salt)
            if after is None:
                if not _may_be_a_start(data[at : at + HEADER.size]):
                    yield Damage(path, base + at, len(data) - at, "no block begins here")
                return
            yield Damage(path, base + at, after - at, "no block begins here")
            at = after
            continue
        begin, end = at + HEADER.size, at + HEADER.size + head.length
        if end <= len(data) and zlib.crc32(data[begin:end]) == head.crc:
            yield Frame(base + at, head.number, data[begin:end])
            at = end
            continue
        after = _next(raw, data, begin, salt)
        if after is None and end > len(data):
            return  # the unfinished write of a process that died or still writes
        after = end if after is None else after
        yield Damage(path, base + at, after - at, f"block {head.number} fails its checksum")
        at = after


def at(file: BinaryIO, offset: int) -> Frame | None:
    """The frame that lies at an offset of a file; None if there is no whole one."""
    head = _head(memoryview(os.pread(file.fileno(), HEADER.size, offset)), 0)
    payload = b"" if head is None else os.pread(file.fileno(), head.length, offset + HEADER.size)
    if head is None or len(payload) != head.length or zlib.crc32(payload) != head.crc:
        return None
    return Frame(offset, head.number, memoryview(payload))


def _may_be_a_start(rest: memoryview) -> bool:
    return len(rest) < HEADER.size and bytes(rest[:8]) == MAGIC[: len(rest)]
