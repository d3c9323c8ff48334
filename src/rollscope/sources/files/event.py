"""Events of a TensorBoard file.

Nearly all events hold one scalar and differ only in time, step and value: those are read as
columns.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.sources import Points, Skipped

from . import wire

Ints = NDArray[np.int64]
FLOATS = {1: ("<f", 4, 5), 2: ("<d", 8, 6)}  # tensor dtype -> format, bytes, field of the value list
LATEST = 9e9  # seconds of a time that fits into 64 bits of nanoseconds
WHOLES = {3: 7, 9: 10}  # int32 and int64 -> field of the value list


@dataclass(slots=True)
class Event:
    time_ns: int = 0
    step: int = 0
    values: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)  # tags of values that are neither


def event(data: bytes) -> Event:
    """Decode one event message."""
    decoded = Event()
    for number, value in wire.fields(data):
        if number == 1:
            seconds = wire.double(value)
            decoded.time_ns = round(seconds * 1e9) if abs(seconds) < LATEST else 0
        elif number == 2:
            decoded.step = wire.signed(value)
        elif number == 5:
            for _, summary in wire.fields(value):
                _add_value(summary, decoded)
    return decoded


def _add_value(data: bytes, decoded: Event) -> None:
    parts = dict(wire.fields(data))
    tag = parts.get(1, b"").decode("utf-8", "replace")
    plugin = wire.text(wire.first(parts.get(9, b""), 1, b""), 1)
    if 2 in parts:
        decoded.values[tag] = wire.float32(parts[2])
    elif 8 in parts and plugin == "text":
        decoded.texts[tag] = _text(parts[8])
    elif 8 in parts and plugin in ("scalars", "") and (number := _scalar(parts[8])) is not None:
        decoded.values[tag] = number
    else:
        decoded.other.append(tag)


def _scalar(tensor: bytes) -> float | None:
    """The number in a tensor of one element, in any of its encodings; None for other tensors."""
    parts = dict(wire.fields(tensor))
    dtype, content = parts.get(1), parts.get(4)
    if dtype in FLOATS:
        form, size, field_ = FLOATS[dtype]
        raw = content if content is not None else parts.get(field_, b"")
        return float(struct.unpack(form, raw)[0]) if len(raw) == size else None
    if dtype in WHOLES:
        raw = parts.get(WHOLES[dtype])
        if content is not None:
            return float(int.from_bytes(content, "little", signed=True))
        return float(wire.signed(raw if isinstance(raw, int) else wire.varint(raw, 0)[0])) if raw is not None else None
    return None


def _text(tensor: bytes) -> str:
    return "\n".join(value.decode("utf-8", "replace") for number, value in wire.fields(tensor) if number == 8)


class Scalars:
    """Reads the usual records of a file as columns, and collects names, texts and other tags."""

    def __init__(self) -> None:
        # The bytes between step and value -> index of the name; -1: not in the usual form.
        self._tags: dict[bytes, int] = {}
        self.names: list[str] = []
        self._index: dict[str, int] = {}  # name -> its index in `names`
        self._texts: dict[str, str] = {}
        self._other: dict[str, int] = {}
        self.odd: tuple[Ints, Ints] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def read(self, data: bytes, raw: NDArray[np.uint8], begin: Ints, size: Ints) -> Iterator[Points]:
        """Yield the usual records as one `Points`; `odd` locates the others."""
        usual, step, after = _steps(raw, begin, size)
        end = begin + size
        index = np.full(len(begin), -1, np.int64)
        where = np.flatnonzero(usual)
        tags = self._tags
        middles = [data[a:b] for a, b in zip(after[where].tolist(), (end[where] - 4).tolist(), strict=True)]
        for middle in set(middles) - tags.keys():
            tags[middle] = self._learn(middle)
        index[where] = [tags[middle] for middle in middles]
        rows = np.flatnonzero(index >= 0)
        self.odd = (begin[index < 0], size[index < 0])
        if len(rows):
            seconds = _gather(raw, begin[rows] + 1, "<f8")
            seconds = np.where(np.abs(seconds) < LATEST, seconds, 0)
            values = _gather(raw, end[rows] - 4, "<f4").astype(np.float64)
            time_ns = np.round(seconds * 1e9).astype(np.int64)
            yield Points(self.names, step[rows], time_ns, values, index[rows].astype(np.uint32))

    def _learn(self, middle: bytes) -> int:
        """Index of the name in the bytes between step and value.

        -1 unless they are exactly `summary { value { tag, simple_value`.
        """
        try:
            decoded = event(b"\x09" + bytes(8) + middle + bytes(4))
        except (wire.Malformed, ValueError, struct.error):
            return -1
        if len(decoded.values) != 1 or decoded.texts or decoded.other or not middle.endswith(b"\x15"):
            return -1
        return self._index_of(next(iter(decoded.values)))

    def _index_of(self, name: str) -> int:
        if (index := self._index.setdefault(name, len(self.names))) == len(self.names):
            self.names.append(name)
        return index

    def add(self, decoded: Event) -> None:
        """Take note of the names, texts and other tags of an event in another form."""
        for name in decoded.values:
            self._index_of(name)
        self._texts |= decoded.texts
        for tag in decoded.other:
            self._other[tag] = self._other.get(tag, 0) + 1

    def config(self) -> dict[str, Any]:
        """The configuration: Hugging Face writes its arguments as a JSON text named `args`."""
        for tag in ("args/text_summary", "args", "config/text_summary", "config"):
            try:
                config = json.loads(self._texts.get(tag, ""))
            except (ValueError, RecursionError):
                continue
            if isinstance(config, dict):
                return config
        return {}

    def left_out(self, path: Path) -> Iterator[Skipped]:
        other, self._other = self._other, {}
        for tag, count in other.items():
            yield Skipped(f"{tag!r} is neither a number nor a text ({count} times): not kept", path)


def _gather(raw: NDArray[np.uint8], at: Ints, dtype: str) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    return np.ascontiguousarray(raw[at[:, None] + np.arange(width)]).view(dtype).ravel()


def _steps(raw: NDArray[np.uint8], begin: Ints, size: Ints) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """For each record: does it begin with a time and an optional step, the step, and where it ends.

    Step 0 is not written.
    """
    count = len(begin)
    usual = (size > 20) & (size < 400)
    safe = np.where(usual, begin, 0)
    if not count or len(raw) < 24:
        return np.zeros(count, bool), np.zeros(count, np.int64), begin
    usual &= raw[safe] == 0x09
    has_step = raw[safe + 9] == 0x10
    step, after = np.zeros(count, np.int64), safe + 9
    going = usual & has_step
    after = after + has_step
    for digit in range(10):
        byte = raw[np.minimum(after, len(raw) - 1)].astype(np.int64)
        step = np.where(going, step | ((byte & 0x7F) << np.int64(7 * digit)), step)
        after = after + going
        going = going & (byte >= 0x80)
        if not going.any():
            break
    return usual, step, after
