"""Read a log from a byte offset on: every whole block, also while the file grows."""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import dataclass, field
from typing import BinaryIO

from rollscope.store import regular_file

from . import block, frame
from .block import Block
from .check import checked
from .frame import Damage

NOT_UNDERSTOOD = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, struct.error)
MOST_BYTES = 2 << 30  # of one log; writers begin the next one at 64 MB


@dataclass(frozen=True, slots=True)
class Scan:
    blocks: list[Block] = field(default_factory=list)
    next_offset: int = 0  # where to continue when the file has grown
    damage: list[Damage] = field(default_factory=list)


def scan(path: str | os.PathLike[str], offset: int = 0) -> Scan:
    """Read every whole block from a byte offset on. An unfinished write is left for the next scan.

    Within one scan a block number is returned once: a writer may repeat a block it was unsure
    about.
    """
    name = os.fspath(path)
    with regular_file.opened(name) as file:
        opening = os.pread(file.fileno(), frame.HEADER.size, 0) if offset else b""
        raw = _from(file, offset, name)
    salt = frame.salt_of(opening) if offset else frame.salt_of(raw)
    if salt is None and offset:
        salt = _salt_of_file(name)
    result = Scan(next_offset=offset)
    at, last = offset, -1
    for item in frame.frames(raw, salt, name, offset):
        if isinstance(item, Damage):
            result.damage.append(item)
            at = item.offset + item.length if item.offset + item.length < offset + len(raw) else at
            continue
        at = item.offset + frame.HEADER.size + len(item.payload)
        if item.number > last:
            last = item.number
            _read(item, name, result)
    return Scan(result.blocks, at, result.damage)


def block_numbers(path: str | os.PathLike[str]) -> set[int]:
    """The numbers of the whole blocks of a log, read through a new handle."""
    name = os.fspath(path)
    with open(name, "rb") as file:
        raw = file.read()
    frames = frame.frames(raw, frame.salt_of(raw), name, 0)
    return {item.number for item in frames if not isinstance(item, Damage)}


def _read(item: frame.Frame, path: str, result: Scan) -> None:
    try:
        result.blocks.append(checked(block.read(item.payload, item.offset, item.number)))
    except NOT_UNDERSTOOD as error:  # whole, but not of this format
        length = frame.HEADER.size + len(item.payload)
        says = f"block {item.number} is whole but not understood ({error!r}); a newer version may read it"
        result.damage.append(Damage(path, item.offset, length, says))


def _from(file: BinaryIO, offset: int, path: str) -> bytes:
    """The bytes of a log from an offset on."""
    if os.fstat(file.fileno()).st_size - offset > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES >> 30} GB, which no log is", path)
    file.seek(offset)
    return file.read()


def _salt_of_file(path: str) -> int | None:
    with regular_file.opened(path) as file:
        return frame.salt_of(_from(file, 0, path))
