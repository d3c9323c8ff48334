"""A phrase to search for, and its occurrences in bytes.

The C library's memmem finds it in a tenth of the time of Python's own search, and lets other
threads run meanwhile. To ignore case, a copy in lower case is searched.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput

CHUNK = 256 << 10  # bytes folded to lower case at once: they stay in the cache
CASE = 0x20  # the bit in which a lower-case letter differs from its capital
AROUND = 60  # bytes of a snippet on each side
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Bounds = tuple[list[int], list[int]]  # offsets at which rows begin and end

# `_released` lets other threads run, which takes longer than a short search with `_held`
_released, _held = (library(None).memmem for library in (ctypes.CDLL, ctypes.PyDLL))
for _memmem in (_released, _held):
    _memmem.restype = ctypes.c_void_p
    _memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


@dataclass(frozen=True, slots=True)
class Phrase:
    text: str
    pattern: re.Pattern[bytes]
    ignore_case: bool
    regex: bool

    @classmethod
    def of(cls, text: str, ignore_case: bool, regex: bool) -> Phrase:
        if not text:
            raise BadInput("nothing to search for: the text is empty.")
        raw = text.encode("utf-8", "surrogatepass")
        try:
            pattern = re.compile(raw if regex else re.escape(raw), re.IGNORECASE if ignore_case else 0)
        except re.error as error:
            raise BadInput(
                f"{text!r} is not a regular expression: {error}. Without regex=True it is searched literally."
            ) from error
        return cls(text, pattern, ignore_case, regex)

    def candidates(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Which rows of a column may contain it. No stored text contains a lone surrogate."""
        text = self.text.encode("utf-8", "replace").decode()
        match = pc.match_substring_regex if self.regex else pc.match_substring
        try:
            return pc.fill_null(match(column, text, ignore_case=self.ignore_case), False)
        except pa.ArrowInvalid:  # an expression that Arrow does not know, such as a lookahead
            return pc.is_valid(column)

    def rows(self, data: Bytes, bounds: Callable[[], Bounds]) -> Iterator[tuple[int, str]]:
        """Rows that contain it, once each, with a snippet. `bounds()` is called only if needed."""
        view = data.data
        if self.regex:
            yield from self._by_pattern(view, *bounds())
            return
        next_from, length = self._finder(data), len(self.text.encode("utf-8", "surrogatepass"))
        at = next_from(0)
        starts, ends = bounds() if at >= 0 else ([], [])
        while at >= 0:
            row = bisect_right(starts, at) - 1
            if row >= 0 and at + length <= ends[row]:
                yield row, _snippet(view, starts[row], ends[row], at, at + length)
                at = next_from(ends[row])  # one hit per row
            else:
                at = next_from(at + 1)  # it crosses the end of a text

    def _by_pattern(self, view: memoryview, starts: list[int], ends: list[int]) -> Iterator[tuple[int, str]]:
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if match := self.pattern.search(view[start:end]):
                yield row, _snippet(view, start, end, start + match.start(), start + match.end())

    def in_text(self, raw: bytes) -> str | None:
        """The snippet of its first occurrence in one text."""
        match = self.pattern.search(raw)
        return _snippet(memoryview(raw), 0, len(raw), *match.span()) if match else None

    def _finder(self, data: Bytes) -> Callable[[int], int]:
        """A function that returns its first offset at or after a given one, or -1."""
        needle = self.text.encode("utf-8", "surrogatepass")
        return _folding_finder(data, needle, self.pattern) if self.ignore_case else _finder(data, needle)


def _folding_finder(data: Bytes, needle: bytes, pattern: re.Pattern[bytes]) -> Callable[[int], int]:
    """Ignore case, chunk by chunk: allocating a copy of a whole log takes longer than searching it.

    One bit set in every byte turns capitals into lower case. It makes a few other bytes equal too,
    so the pattern checks each occurrence.
    """
    chunk, find, folded = -1, _finder(data[:0], needle), bytes(byte | CASE for byte in needle)

    def next_from(at: int) -> int:
        nonlocal chunk, find
        while at < len(data):
            if chunk != at // CHUNK:
                chunk = at // CHUNK
                find = _finder(np.bitwise_or(data[chunk * CHUNK : (chunk + 1) * CHUNK + len(needle) - 1], CASE), folded)
            if (offset := find(at - chunk * CHUNK)) < 0:
                at = (chunk + 1) * CHUNK
            elif pattern.match(data.data, at := chunk * CHUNK + offset):
                return at
            else:
                at += 1
        return -1

    return next_from


def _finder(data: Bytes, needle: bytes) -> Callable[[int], int]:
    begin = data.ctypes.data

    def next_from(at: int) -> int:
        memmem = _held if at else _released
        address = memmem(begin + at, max(0, len(data) - at), needle, len(needle))  # this closure keeps `data` alive
        return -1 if address is None else int(address) - begin

    return next_from


def _snippet(view: memoryview, start: int, end: int, first: int, last: int) -> str:
    """The bytes [first, last) with the text around them, from a text at [start, end)."""
    begin, stop = max(start, first - AROUND), min(end, last + AROUND)
    return ("…" if begin > start else "") + str(view[begin:stop], "utf-8", "ignore") + ("…" if stop < end else "")
