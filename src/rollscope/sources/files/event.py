"""Events of a TensorBoard file. Nearly all are one scalar each and alike up to time, step and value: those are read as columns."""

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
WHOLES = {3: 7, 9: 10}  # int32 and int64 -> field of the value list


@dataclass(slots=True)
class Event:
    time_ns: int = 0
    step: int = 0
    values: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)  # tags of what is neither


def event(data: bytes) -> Event:
    found = Event()
    for number, value in wire.fields(data):
        if number == 1:
            found.time_ns = round(wire.double(value) * 1e9)
        elif number == 2:
            found.step = wire.signed(value)
        elif number == 5:
            for _, summary in wire.fields(value):
                _value(summary, found)
    return found


def _value(data: bytes, found: Event) -> None:
    parts = dict(wire.fields(data))
    tag = parts.get(1, b"").decode("utf-8", "replace")
    plugin = wire.text(wire.first(parts.get(9, b""), 1, b""), 1)
    if 2 in parts:
        found.values[tag] = wire.float32(parts[2])
    elif 8 in parts and plugin == "text":
        found.texts[tag] = _text(parts[8])
    elif 8 in parts and plugin in ("scalars", "") and (number := _scalar(parts[8])) is not None:
        found.values[tag] = number
    else:
        found.other.append(tag)


def _scalar(tensor: bytes) -> float | None:
    """A tensor of one number, however it is packed."""
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
    """Reads the usual records of a file as columns, and remembers what else was there."""

    def __init__(self) -> None:
        self._tags: dict[
            bytes, int
        ] = {}  # the bytes between step and value -> index of the name, -1: not the usual form
        self.names: list[str] = []
        self._texts: dict[str, str] = {}
        self._other: dict[str, int] = {}
        self.odd: tuple[Ints, Ints] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def read(self, data: bytes, raw: NDArray[np.uint8], begin: Ints, size: Ints) -> Iterator[Points]:
        """The usual records as one `Points`; `odd` holds where the others are."""
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
            values = _gather(raw, end[rows] - 4, "<f4").astype(np.float64)
            yield Points(
                self.names, step[rows], np.round(seconds * 1e9).astype(np.int64), values, index[rows].astype(np.uint32)
            )

    def _learn(self, middle: bytes) -> int:
        """The name in the bytes between step and value, if they are `summary { value { tag, simple_value` and nothing else."""
        try:
            found = event(b"\x09" + bytes(8) + middle + bytes(4))
        except (wire.Malformed, ValueError, struct.error):
            return -1
        if len(found.values) != 1 or found.texts or found.other or not middle.endswith(b"\x15"):
            return -1
        name = next(iter(found.values))
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def take(self, found: Event) -> None:
        self.names += [name for name in found.values if name not in self.names]
        self._texts |= found.texts
        for tag in found.other:
            self._other[tag] = self._other.get(tag, 0) + 1

    def config(self) -> dict[str, Any]:
        """Hugging Face writes its arguments as a text called `args`, in JSON."""
        for tag in ("args/text_summary", "args", "config/text_summary", "config"):
            try:
                found = json.loads(self._texts.get(tag, ""))
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
        return {}

    def left_out(self, path: Path) -> Iterator[Skipped]:
        other, self._other = self._other, {}
        for tag, count in other.items():
            yield Skipped(f"{tag!r} is neither a number nor a text ({count} times): not kept", path)


def _gather(raw: NDArray[np.uint8], at: Ints, dtype: str) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    return np.ascontiguousarray(raw[at[:, None] + np.arange(width)]).view(dtype).ravel()


def _steps(raw: NDArray[np.uint8], begin: Ints, size: Ints) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """Which records begin with a time and perhaps a step (0 is not written), the step, and where it ends."""
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
