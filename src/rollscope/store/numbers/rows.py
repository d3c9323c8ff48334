"""Metric rows as columns: logs and sealed sets produce them, merging consumes them.

Words (kind, writer, scope) are small integers of one `Words` table per reader, so rows from many
files are joined without touching a string again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


class Words:
    """Word -> small integer, fixed for the life of a reader. The empty word is 0."""

    def __init__(self) -> None:
        self.words: list[str] = [""]
        self._codes: dict[str, int] = {"": 0}

    def code(self, word: str | None) -> int:
        word = word or ""
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self.words)
            self.words.append(word)
        return code

    def codes(self, words: Sequence[str | None]) -> Codes:
        return np.fromiter((self.code(word) for word in words), np.int32, len(words))


@dataclass(slots=True)
class States:
    """The states of the partials of all rows, end to end. A plain number has an empty state."""

    flat: Floats
    ends: Ints  # row i is flat[ends[i - 1] : ends[i]]

    @classmethod
    def none(cls, n: int) -> States:
        return cls(np.empty(0), np.zeros(n, np.int64))

    def of(self, row: int) -> Floats:
        return self.flat[self.ends[row - 1] if row else 0 : self.ends[row]]

    def lengths(self) -> Ints:
        return np.diff(self.ends, prepend=0)

    def take(self, rows: Ints) -> States:
        starts = np.where(rows > 0, self.ends[rows - 1], 0)  # of these rows alone: there may be a million others
        lengths = self.ends[rows] - starts
        ends = np.cumsum(lengths)
        index = np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
        return States(self.flat[index], ends)

    @classmethod
    def join(cls, parts: Sequence[States]) -> States:
        shifts = np.cumsum([0, *(len(part.flat) for part in parts[:-1])])
        ends = [part.ends + shift for part, shift in zip(parts, shifts, strict=True)]
        return cls(np.concatenate([part.flat for part in parts]), np.concatenate(ends))


@dataclass(slots=True)
class Rows:
    """Rows of one metric. Rows from one file are in the order in which they were written."""

    step: Ints
    time_ns: Ints
    value: Floats
    weight: Floats  # NaN: a plain number
    kind: Codes
    writer: Codes
    seq: Ints  # which file of its writer
    rank: Ints  # -1: unknown
    attempt: Ints
    scope: Codes  # environment, split and clock as one word; 0: the training run as a whole
    state: States

    def __len__(self) -> int:
        return len(self.step)

    def take(self, rows: Ints) -> Rows:
        return Rows(*(getattr(self, f.name).take(rows) for f in fields(self)))

    def only(self, keep: NDArray[np.bool_]) -> Rows:
        return self if keep.all() else self.take(np.flatnonzero(keep))

    def unscoped(self) -> Rows:
        """Drop rows of single environments, other splits and other clocks, if other rows remain."""
        plain = self.scope == 0
        return self.only(plain) if plain.any() else self

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        if not parts:
            return cls.empty()
        if len(parts) == 1:
            return parts[0]
        names = [f.name for f in fields(cls) if f.name != "state"]
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**columns, state=States.join([part.state for part in parts]))

    @classmethod
    def empty(cls) -> Rows:
        i, f, c = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int32)
        return cls(i, i, f, f, c, c, i, i, i, c, States.none(0))


def stretch_starts(*keys: NDArray[np.int64] | NDArray[np.int32]) -> Ints:
    """The index at which each stretch of equal keys begins."""
    new = np.ones(len(keys[0]), bool)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(new)


def ranges(begin: Ints, sizes: Ints) -> Ints:
    """begin[0] .. begin[0] + sizes[0] - 1, begin[1] .., end to end."""
    ends = np.cumsum(sizes)
    return np.repeat(begin - (ends - sizes), sizes) + np.arange(int(ends[-1]) if len(ends) else 0)


def batch_bounds(counts: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Cut a list of counts into batches (lo, hi) of about `size`, at least one item each."""
    ends = np.cumsum(counts)
    lo = 0
    while lo < len(counts):
        hi = max(lo + 1, int(np.searchsorted(ends, (ends[lo - 1] if lo else 0) + size, "right")))
        yield lo, hi
        lo = hi


@dataclass(slots=True)
class NamedRows:
    """Rows of many names: row i belongs to `names[name[i]]`."""

    names: list[str]
    name: Codes
    rows: Rows

    def sorted(self) -> NamedRows:
        """Sort by name, attempt and step; within a step by writer and time."""
        if self._is_sorted():
            return self
        order = np.argsort(np.array(self.names, object)) if self.names else np.empty(0, np.int64)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        name = rank[self.name]
        rows = self.rows
        by = np.lexsort((rows.seq, rows.time_ns, rows.writer, rows.step, rows.attempt, name))
        return NamedRows([self.names[i] for i in order.tolist()], name[by], rows.take(by))

    def _is_sorted(self) -> bool:
        """True for the rows of one ordinary writer. Checking costs a tenth of sorting."""
        rows = self.rows
        if any(a >= b for a, b in pairwise(self.names)) or (np.diff(self.name) < 0).any():
            return False
        same = np.diff(self.name) == 0
        same_attempt = same & (np.diff(rows.attempt) == 0)
        if (same & (np.diff(rows.attempt) < 0)).any() or (same_attempt & (np.diff(rows.step) < 0)).any():
            return False
        same_step = same_attempt & (np.diff(rows.step) == 0)
        falls = (np.diff(rows.writer) != 0) | (np.diff(rows.time_ns) < 0) | (np.diff(rows.seq) < 0)
        return not (same_step & falls).any()

    @classmethod
    def join(cls, parts: Sequence[NamedRows]) -> NamedRows:
        codes: dict[str, int] = {}
        for part in parts:
            for name in part.names:
                codes.setdefault(name, len(codes))
        recoded = [np.array([codes[name] for name in part.names], np.int32)[part.name] for part in parts]
        index = np.concatenate(recoded) if recoded else np.empty(0, np.int32)
        return cls(list(codes), index, Rows.join([part.rows for part in parts]))
