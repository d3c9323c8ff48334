"""Metric rows as columns: what logs and sealed files give, and what merging takes.

Words (kind, writer, environment) are small integers of one `Words` table per reader, so that pieces from many files can be
put together without touching a string again.
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
    """Word -> small integer, the same for as long as a reader lives. The empty word is 0."""

    def __init__(self) -> None:
        self.words: list[str] = [""]
        self._codes: dict[str, int] = {"": 0}

    def code(self, word: str | None) -> int:
        word = word or ""
        found = self._codes.get(word)
        if found is None:
            found = self._codes[word] = len(self.words)
            self.words.append(word)
        return found

    def codes(self, words: Sequence[str | None]) -> Codes:
        return np.fromiter((self.code(word) for word in words), np.int32, len(words))


@dataclass(slots=True)
class States:
    """The partials' numbers of every row, end to end; a row without a state has none."""

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
        return cls(
            np.concatenate([p.flat for p in parts]),
            np.concatenate([p.ends + s for p, s in zip(parts, shifts, strict=True)]),
        )


@dataclass(slots=True)
class Rows:
    """Rows of one metric; those of one file stand in the order they were written."""

    step: Ints
    time_ns: Ints
    value: Floats
    weight: Floats  # NaN: a plain number
    kind: Codes
    writer: Codes
    seq: Ints  # which file of its writer
    rank: Ints  # -1: not said
    attempt: Ints
    where: Codes  # environment, split and clock as one word
    state: States

    def __len__(self) -> int:
        return len(self.step)

    def take(self, rows: Ints) -> Rows:
        return Rows(*(getattr(self, f.name).take(rows) for f in fields(self)))

    def only(self, keep: NDArray[np.bool_]) -> Rows:
        return self if keep.all() else self.take(np.flatnonzero(keep))

    def own(self) -> Rows:
        """Without the rows of single environments, other splits and other clocks, where there are rows of the whole."""
        whole = self.where == 0
        return self.only(whole) if whole.any() else self

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


def ranges(begin: Ints, sizes: Ints) -> Ints:
    """begin[0] .. begin[0] + sizes[0] - 1, begin[1] .., end to end."""
    ends = np.cumsum(sizes)
    return np.repeat(begin - (ends - sizes), sizes) + np.arange(int(ends[-1]) if len(ends) else 0)


def cuts(counts: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Stretches of things that together count about `size`, at least one thing each."""
    ends = np.cumsum(counts)
    lo = 0
    while lo < len(counts):
        hi = max(lo + 1, int(np.searchsorted(ends, (ends[lo - 1] if lo else 0) + size, "right")))
        yield lo, hi
        lo = hi


@dataclass(slots=True)
class Named:
    """Rows of many names: `name` is a row's place in `names`."""

    names: list[str]
    name: Codes
    rows: Rows

    def sorted(self) -> Named:
        """By name, then attempt, then step; within a step by writer and time."""
        if self._is_sorted():
            return self
        order = np.argsort(np.array(self.names, object)) if self.names else np.empty(0, np.int64)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        name = rank[self.name]
        by = np.lexsort((self.rows.seq, self.rows.time_ns, self.rows.writer, self.rows.step, self.rows.attempt, name))
        return Named([self.names[i] for i in order.tolist()], name[by], self.rows.take(by))

    def _is_sorted(self) -> bool:
        """As one writer leaves them: looking costs a tenth of sorting."""
        rows = self.rows
        if any(a >= b for a, b in pairwise(self.names)) or (np.diff(self.name) < 0).any():
            return False
        same = np.diff(self.name) == 0
        same_attempt = same & (np.diff(rows.attempt) == 0)
        if (same & (np.diff(rows.attempt) < 0)).any() or (same_attempt & (np.diff(rows.step) < 0)).any():
            return False
        return not (
            same_attempt
            & (np.diff(rows.step) == 0)
            & ((np.diff(rows.writer) != 0) | (np.diff(rows.time_ns) < 0) | (np.diff(rows.seq) < 0))
        ).any()

    @classmethod
    def join(cls, parts: Sequence[Named]) -> Named:
        codes: dict[str, int] = {}
        for part in parts:
            for name in part.names:
                codes.setdefault(name, len(codes))
        moved = [np.array([codes[name] for name in part.names], np.int32)[part.name] for part in parts]
        return cls(
            list(codes),
            np.concatenate(moved) if moved else np.empty(0, np.int32),
            Rows.join([part.rows for part in parts]),
        )
