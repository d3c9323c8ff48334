"""Encode and decode one column of a table block, by its type in `schema.py`.

`docs/format.md` is the specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope import strict_json

from .lists import ColumnValues, Lists

NULL = 0xFFFFFFFF  # a length or a code that stands for null
LISTS = {"float64[]": "<f8", "int64[]": "<i8", "float32[]": "<f4"}
NUMBERS = {"int64": "<i8", "float64": "<f8"}
_PYTHON = {"<i8": int, "<f8": float}
_EXACT = {"<i8": {int, bool, type(None)}, "<f8": {float, int, bool, type(None)}}  # types that numpy takes as they are


@dataclass(frozen=True, slots=True)
class Cells:
    """One column of a table block as stored. `values()` decodes it; a fast reader uses `parts`."""

    name: str
    type: str
    encoding: str  # plain | wtf8 | dict | const
    rows: int
    parts: list[memoryview]
    const: Any = None

    def values(self) -> list[Any]:
        """One Python value per row, None for null; JSON as its text, lists as numpy arrays."""
        if self.encoding == "const":
            return [self.const] * self.rows
        if self.encoding == "dict":
            words = _texts(self.parts[1], self.parts[2])
            return [None if code == NULL else words[code] for code in np.frombuffer(self.parts[0], "<u4").tolist()]
        if self.type in LISTS:
            return _slices(self.parts[0], np.frombuffer(self.parts[1], LISTS[self.type]))
        if self.type in NUMBERS:
            numbers = np.frombuffer(self.parts[0], NUMBERS[self.type]).tolist()
            nulls = bytes(self.parts[1]) if len(self.parts) > 1 else b""
            return [None if null else v for v, null in zip(numbers, nulls, strict=True)] if nulls else numbers
        if self.type == "bool":
            return [(False, True, None)[code] for code in self.parts[0]]
        return _texts(self.parts[0], self.parts[1])


def encode(type: str, values: ColumnValues, big: bool) -> tuple[str, list[bytes]]:
    """Return the encoding and the parts of a column. Repeated text is stored once, unless `big`."""
    if isinstance(values, Lists):
        return "plain", [values.lengths.astype("<u4").tobytes(), np.asarray(values.values, LISTS[type]).tobytes()]
    if type in NUMBERS:
        return "plain", _numbers(values, NUMBERS[type])
    if type == "bool":
        return "plain", [bytes(2 if v is None else bool(v) for v in values)]
    if type in LISTS:
        arrays = _arrays(values, np.dtype(LISTS[type]))
        return "plain", [_lengths(arrays), b"".join([a.tobytes() for a in arrays if a is not None])]
    text_of = strict_json.dumps if type == "json" else str
    texts = [v if v is None or isinstance(v, str) else text_of(v) for v in values]
    if not big and len(texts) > 8 and len(words := dict.fromkeys(texts)) <= len(texts) // 2:
        words.pop(None, None)
        encoding, parts = _encoded([*words])
        if encoding == "plain":
            codes = {word: code for code, word in enumerate(words)} | {None: NULL}
            return "dict", [np.array([*map(codes.__getitem__, texts)], "<u4").tobytes(), *parts]
    return _encoded(texts)


def _arrays(values: Sequence[Any], dtype: np.dtype[Any]) -> list[NDArray[Any] | None]:
    """Convert to arrays of one type and one dimension; most already are.

    A number that is too large for the type becomes infinite, without a warning.
    """
    with np.errstate(over="ignore"):
        return [
            v
            if v is None or (type(v) is np.ndarray and v.dtype == dtype and v.ndim == 1)
            else np.asarray(v, dtype).ravel()
            for v in values
        ]


def _encoded(texts: Sequence[str | None]) -> tuple[str, list[bytes]]:
    """Encode texts: "plain" is UTF-8; "wtf8" also has lone surrogates, as three bytes each."""
    joined = "".join([t for t in texts if t is not None])
    if joined.isascii():  # as many bytes as letters: one copy for all
        return "plain", [_lengths(texts), joined.encode()]
    try:
        data, encoding = [None if t is None else t.encode() for t in texts], "plain"
    except UnicodeEncodeError:
        data, encoding = [None if t is None else t.encode("utf-8", "surrogatepass") for t in texts], "wtf8"
    return encoding, [_lengths(data), b"".join(d for d in data if d is not None)]


def _lengths(values: Iterable[Any]) -> bytes:
    return np.array([NULL if v is None else len(v) for v in values], "<u4").tobytes()


def _numbers(values: Sequence[Any], dtype: str) -> list[bytes]:
    """Numbers, and which are null if some are. Raises if a value is no single number."""
    kinds = {*map(type, values)}
    if not kinds <= _EXACT[dtype]:
        if any(issubclass(kind, np.complexfloating) for kind in kinds):  # which `float` takes, with a warning
            raise TypeError("a complex number is not a number of this column")
        values = [None if value is None else _PYTHON[dtype](value) for value in values]
    if type(None) not in kinds:
        return [np.array(values, dtype).tobytes()]
    return [np.array([0 if v is None else v for v in values], dtype).tobytes(), bytes(v is None for v in values)]


def _texts(lengths: memoryview, data: memoryview) -> list[str | None]:
    out: list[str | None] = []
    at, raw = 0, bytes(data)
    for size in np.frombuffer(lengths, "<u4").tolist():
        if size == NULL:
            out.append(None)
            continue
        out.append(raw[at : at + size].decode("utf-8", "surrogatepass"))
        at += size
    return out


def _slices(lengths: memoryview, data: NDArray[Any]) -> list[Any]:
    out: list[Any] = []
    at = 0
    for size in np.frombuffer(lengths, "<u4").tolist():
        out.append(None if size == NULL else data[at : at + size])
        at += 0 if size == NULL else size
    return out
