"""TensorBoard event files, read without TensorBoard or TensorFlow.

All event files of a folder are one run, later files replacing earlier ones where they overlap, as TensorBoard shows them. Scalars are
taken at their full number of points, in either of TensorBoard's two forms; texts become notes. Histograms and images are said to be left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rollscope.sources.files import wire
from rollscope.sources.files.crc32c import hold, masked
from rollscope.sources.files.event import Event, Scalars, event
from rollscope.sources.intake.gather import run_id
from rollscope.sources.intake.guess import algorithm, framework

from . import Item, Mark, Points, Records, Restart, Run, Since, Skipped

NAMES = ("tensorboard", "tensorflow events")
CHUNK = 1 << 23  # bytes read at a time
HEAD = struct.Struct("<QI")


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
            yield Run(id=id, kind=NAMES[0])
            yield Restart("the file was rewritten since it was last imported: it is read anew")
            cursor = {"at": 0}
        scalars = Scalars()
        for items in _pieces(path, file, cursor["at"], scalars):
            if first:
                yield Run(id=id, kind=NAMES[0], facts=_facts(folder, scalars, items))
                first = False
            yield from (item for item in items if not isinstance(item, int))
            cursor = {"at": next(item for item in items if isinstance(item, int)), "head": head[:512]}
            yield Mark(cursor, cursor["at"], size)
        if not first:
            yield from scalars.left_out(path)
        if cursor["at"] < size:
            yield Skipped(
                f"the file ends in the middle of a record ({size - cursor['at']} bytes); the rest is taken when it is there",
                path,
                cursor["at"],
            )


def name_of(folder: Path) -> str:
    """`grpo-tensorboard` rather than `tensorboard`: the folder above says what run it was."""
    return (
        f"{folder.parent.name}-{folder.name}"
        if folder.name in ("tensorboard", "tb", "runs", "logs", "train", "eval", "all")
        else folder.name
    )


def _facts(folder: Path, scalars: Scalars, items: list[Any]) -> dict[str, Any]:
    times = [int(item.time_ns[0]) for item in items if isinstance(item, Points) and len(item.time_ns)]
    config = scalars.config()
    found = framework(scalars.names, config)
    name = name_of(folder)
    return {
        "name": name,
        "project": folder.parent.name,
        "framework": found,
        "algorithm": algorithm(found, config),
        "config": config or None,
        "started_ns": min(times, default=None),
    }


def _pieces(path: Path, file: BinaryIO, at: int, scalars: Scalars) -> Iterator[list[Item | int]]:
    """The items of one piece of the file after the other, each list with the offset it was understood to. A record that is cut by the end of a piece is read with the next."""
    file.seek(at)
    rest = b""
    while more := file.read(CHUNK):
        data = rest + more
        items = list(_chunk(path, data, at, scalars))
        end = next(item for item in items if isinstance(item, int))
        if end > at:
            yield items
        rest, at = data[end - at :], end


def _chunk(path: Path, data: bytes, base: int, scalars: Scalars) -> Iterator[Item | int]:
    """The items of a piece, then how far it was understood."""
    begin, size, at, lost = _records(data)
    raw = np.frombuffer(data, np.uint8)
    stored = raw[(begin + size)[:, None] + np.arange(4)].view("<u4").ravel() if len(begin) else np.empty(0, np.uint32)
    good = hold(raw, begin, size, stored)
    for offset in (begin[~good] - 12).tolist():
        yield Skipped("the checksum of a record does not hold", path, base + offset)
    yield from scalars.read(data, raw, begin[good], size[good])
    for offset, length in zip(*(x.tolist() for x in scalars.odd), strict=True):
        yield from _odd(path, base, data, offset, length, scalars)
    for offset, count in lost:
        yield Skipped(
            f"a record's length does not hold: {count} bytes are lost, up to the next record that does",
            path,
            base + offset,
        )
    yield base + at


def _records(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], int, list[tuple[int, int]]]:
    """Where each record's bytes begin, how many they are, where the last one ends, and (offset, bytes) of what had to be passed over."""
    begins: list[int] = []
    sizes: list[int] = []
    lost: list[tuple[int, int]] = []
    at, end = 0, len(data)
    unpack = HEAD.unpack_from
    checked: dict[int, int] = {}  # lengths repeat: their checksums are computed once
    while at + 16 <= end:
        size, crc = unpack(data, at)
        if checked.get(size) != crc:
            if not _length_holds(data[at : at + 8], crc):
                found = _next(data, at + 1)
                lost.append((at, found - at))
                at = found
                continue
            checked[size] = crc
        if at + 16 + size > end:
            break
        begins.append(at + 12)
        sizes.append(size)
        at += 16 + size
    return np.array(begins, np.int64), np.array(sizes, np.int64), at, lost


def _next(data: bytes, at: int) -> int:
    """Where the next record begins: eight bytes that are a length, and four that are its checksum. The end of the data where there is none."""
    raw = np.frombuffer(data, np.uint8)[at:]
    if len(raw) < 12:
        return len(data)
    windows = np.lib.stride_tricks.sliding_window_view(raw, 12)
    maybe = np.flatnonzero((windows[:, 4:8] == 0).all(1))  # a record has less than 4 GB
    stored = np.ascontiguousarray(windows[maybe, 8:]).view("<u4").ravel()
    held = maybe[masked(windows[maybe, :8]) == stored] if len(maybe) else maybe
    return at + int(held[0]) if len(held) else len(data)


def _length_holds(raw: bytes, crc: int) -> bool:
    return int(masked(np.frombuffer(raw, np.uint8)[None])[0]) == crc


def _odd(path: Path, base: int, data: bytes, offset: int, length: int, scalars: Scalars) -> Iterator[Item]:
    """A record of another form than one plain scalar."""
    try:
        found: Event = event(data[offset : offset + length])
    except wire.ODD as error:
        yield Skipped(f"a record is not an event ({error})", path, base + offset - 12)
        return
    scalars.take(found)
    if found.values:
        names = list(found.values)
        yield Points(names, np.array([found.step]), np.array([found.time_ns]), np.array([list(found.values.values())]))
    notes = [
        {"step": found.step, "time_ns": found.time_ns, "kind": "note", "text": text[:20000], "data": {"tag": tag}}
        for tag, text in found.texts.items()
    ]
    if notes:
        yield Records("notes", notes)
