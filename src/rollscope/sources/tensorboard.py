"""TensorBoard event files, read without TensorBoard or TensorFlow.

All event files of a folder are one run; where they overlap, later files replace earlier ones, as in
TensorBoard. Every point of a scalar is imported, in either of TensorBoard's two forms. Texts become
notes. Histograms and images are reported as skipped.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rollscope.sources.files import wire
from rollscope.sources.files.crc32c import masked, matches
from rollscope.sources.files.event import Event, Scalars, event
from rollscope.sources.intake.gather import Gather, run_id
from rollscope.sources.intake.guess import origin

from . import Item, Mark, Points, Records, Restart, RunStart, Since, Skipped

NAMES = ("tensorboard", "tensorflow events")
CHUNK = 1 << 23  # bytes read at a time
LARGEST = 64 << 20  # bytes of a record that is read; a larger one is skipped
HEAD = struct.Struct("<QI")  # length of a record, checksum of the length
FOLDERS = ("tensorboard", "tb", "runs", "logs", "train", "eval", "all")  # names that say nothing about the run


def recognises(path: Path) -> bool:
    return path.is_file() and "tfevents" in path.name and not path.name.endswith(".profile-empty")


def rows(path: Path, since: Since) -> Iterator[Item]:
    folder = path.parent
    id = run_id(name_of(folder), "tensorboard", folder)
    cursor = since.get(id) or {"at": 0}
    size = path.stat().st_size
    first = True
    with path.open("rb") as file:
        head = file.read(256).hex()
        if cursor["at"] > size or not head.startswith(cursor.get("head", "")[: len(head)]):
            yield RunStart(id=id, kind=NAMES[0])
            yield Restart("the file was rewritten since the last import; it is read from the start")
            cursor = {"at": 0}
        scalars = Scalars()
        for items in _chunks(path, file, (cursor["at"], size), scalars):
            if first:
                yield RunStart(id=id, kind=NAMES[0], facts=_facts(folder, scalars, items))
                first = False
            yield from (item for item in items if not isinstance(item, int))
            cursor = {"at": next(item for item in items if isinstance(item, int)), "head": head[:512]}
            yield Mark(cursor, cursor["at"], size)
        if not first:
            yield from scalars.left_out(path)
        if cursor["at"] < size:
            why = f"the file ends in the middle of a record ({size - cursor['at']} bytes)"
            yield Skipped(f"{why}; it is imported once it is complete", path, cursor["at"])


def name_of(folder: Path) -> str:
    """The folder's name; a generic one gets its parent's too: `grpo-tensorboard`."""
    return f"{folder.parent.name}-{folder.name}" if folder.name in FOLDERS else folder.name


def _facts(folder: Path, scalars: Scalars, items: list[Any]) -> dict[str, Any]:
    times = [int(item.time_ns[0]) for item in items if isinstance(item, Points) and len(item.time_ns)]
    config = scalars.config()
    return {
        "name": name_of(folder),
        "project": folder.parent.name,
        **origin(scalars.names, config),
        "config": config or None,
        "started_ns": min(times, default=None),
    }


def _chunks(path: Path, file: BinaryIO, part: tuple[int, int], scalars: Scalars) -> Iterator[list[Item | int]]:
    """The items of one chunk after another; each list also holds the offset behind its last record.

    A record that continues in the next chunk is read with that chunk. Reading ends at the end of
    `part`: the file may grow while it is read.
    """
    at, size = part
    file.seek(at)
    rest = b""
    while file.tell() < size and (more := file.read(CHUNK)):
        data = rest + more
        items = list(_chunk(path, data, at, scalars))
        end = next(item for item in items if isinstance(item, int))
        if end > at:
            yield items
        rest, at = data[end - at :], end
        if (length := _length(rest)) > LARGEST and at + length <= size:
            file.seek(at + length)
            why = f"a record of {length >> 20} MB is larger than {LARGEST >> 20} MB: not read"
            rest, at = b"", at + length
            yield [Skipped(why, path, at - length), at]
        elif length > LARGEST:
            return  # it is not complete


def _length(data: bytes) -> int:
    """Bytes of the incomplete record that the data begins with, its frame included.

    0 if the data is too short: then `_records` has not checked the length.
    """
    return 16 + HEAD.unpack_from(data)[0] if len(data) >= 16 else 0


def _chunk(path: Path, data: bytes, base: int, scalars: Scalars) -> Iterator[Item | int]:
    """The items of a chunk, then the offset behind its last complete record."""
    begin, size, at, lost = _records(data)
    raw = np.frombuffer(data, np.uint8)
    stored = raw[(begin + size)[:, None] + np.arange(4)].view("<u4").ravel() if len(begin) else np.empty(0, np.uint32)
    good = matches(raw, begin, size, stored)
    for offset in (begin[~good] - 12).tolist():
        yield Skipped("a record fails its checksum", path, base + offset)
    yield from scalars.read(data, raw, begin[good], size[good])
    gather = Gather(path)
    for offset, length in zip(*(x.tolist() for x in scalars.odd), strict=True):
        yield from _odd(path, base, data[offset : offset + length], offset, scalars, gather)
    yield from gather.points()
    for offset, count in lost:
        why = f"a record's length fails its checksum: {count} bytes are lost, up to the next good record"
        yield Skipped(why, path, base + offset)
    yield base + at


def _records(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], int, list[tuple[int, int]]]:
    """Where each record's bytes begin, their number, the end of the last record, and what was lost.

    Lost stretches are (offset, number of bytes).
    """
    begins: list[int] = []
    sizes: list[int] = []
    lost: list[tuple[int, int]] = []
    at, end = 0, len(data)
    unpack = HEAD.unpack_from
    checked: dict[int, int] = {}  # lengths repeat: compute each checksum once
    heads: list[int] | None = None  # where a record may begin; found once, when the first one is damaged
    while at + 16 <= end:
        size, crc = unpack(data, at)
        if checked.get(size) != crc:
            if not _is_checksum(data[at : at + 8], crc):
                heads = _heads(data, at) if heads is None else heads
                following = bisect_right(heads, at)
                resumed = heads[following] if following < len(heads) else end
                lost.append((at, resumed - at))
                at = resumed
                continue
            checked[size] = crc
        if at + 16 + size > end:
            break
        begins.append(at + 12)
        sizes.append(size)
        at += 16 + size
    return np.array(begins, np.int64), np.array(sizes, np.int64), at, lost


def _heads(data: bytes, at: int) -> list[int]:
    """Offsets from `at` on where a record may begin: eight bytes of length and their checksum."""
    raw = np.frombuffer(data, np.uint8)[at:]
    if len(raw) < 12:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(raw, 12)
    maybe = np.flatnonzero((windows[:, 4:8] == 0).all(1))  # a record has less than 4 GB
    stored = np.ascontiguousarray(windows[maybe, 8:]).view("<u4").ravel()
    good = maybe[masked(windows[maybe, :8]) == stored] if len(maybe) else maybe
    return (at + good).tolist()


def _is_checksum(raw: bytes, crc: int) -> bool:
    return int(masked(np.frombuffer(raw, np.uint8)[None])[0]) == crc


def _odd(path: Path, base: int, data: bytes, offset: int, scalars: Scalars, gather: Gather) -> Iterator[Item]:
    """A record that is not one plain scalar. Its numbers go to `gather`."""
    try:
        decoded: Event = event(data)
    except wire.UNEXPECTED as error:
        yield Skipped(f"a record is not an event ({error})", path, base + offset - 12)
        return
    scalars.add(decoded)
    step, time_ns = decoded.step, decoded.time_ns
    gather.add(step, time_ns, decoded.values)
    notes = [
        {"step": step, "time_ns": time_ns, "kind": "note", "text": text[:20000], "data": {"tag": tag}}
        for tag, text in decoded.texts.items()
    ]
    if notes:
        yield Records("notes", notes)
