"""Samples of some steps as numpy columns, sorted by step; words are codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Value = TypeVar("Value")


class Chunk:
    """Some samples of training, in step order. A column is converted when it is first asked for."""

    def __init__(self, rows: pa.Table) -> None:
        keep = rows["step"].is_valid()
        if "split" in rows.column_names:
            keep = pc.and_(keep, pc.fill_null(pc.not_equal(rows["split"], "eval"), True))
        rows = rows.filter(keep)
        step = np.asarray(rows["step"], np.int64)
        if (step[1:] < step[:-1]).any():
            order = np.argsort(step, kind="stable")
            rows, step = rows.take(pa.array(order)), step[order]
        self.rows, self.step = rows, step
        self.starts: Ints = np.flatnonzero(np.append(True, step[1:] != step[:-1])) if len(step) else step
        self.steps: Ints = step[self.starts]
        self.counts: Ints = np.diff(np.append(self.starts, len(step)))
        self._kept: dict[str, Any] = {}

    @classmethod
    def of(cls, **columns: Sequence[Any]) -> Chunk:
        """Samples given by their columns; without steps all are of step 0."""
        n = len(next(iter(columns.values())))
        return cls(pa.table({"step": [0] * n, **{k: list(v) for k, v in columns.items()}}))

    def __len__(self) -> int:
        return len(self.step)

    def has(self, column: str) -> bool:
        """True if any sample has a value in this column."""
        return column in self.rows.column_names and self.rows[column].null_count < len(self.rows)

    def number(self, column: str) -> Floats:
        """A column of numbers, NaN where it is unknown."""
        return self.keep(column, lambda: _floats(self.rows[column]))

    def flag(self, column: str) -> Mask:
        """True where a column is known and true."""
        return self.keep(f"{column}?", lambda: np.asarray(pc.fill_null(self.rows[column], False), bool))

    def words(self, column: str) -> tuple[Ints, list[str]]:
        """A column of words as codes, and the words. An unknown word is the empty one."""
        return self.keep(f"{column}=", lambda: _codes(self.rows[column]))

    def texts(self, column: str) -> list[str]:
        """A column as text, empty where it is unknown."""
        return self.keep(f"{column}~", lambda: [str(text or "") for text in self.rows[column].to_pylist()])

    def group(self) -> Ints:
        """A number for each group, other in each step. A sample without a group has its own."""
        return self.keep("group#", self._groups)

    def _groups(self) -> Ints:
        named = [column for column in ("group", "task") if self.has(column)]
        if not named:
            return np.arange(len(self), dtype=np.int64)
        code, words = self.words(named[0])
        alone = code == (words.index("") if "" in words else -1)
        key = np.where(alone, len(words) + np.arange(len(self)), code) + self.step * (len(words) + len(self) + 1)
        return np.asarray(pa.array(key).dictionary_encode().indices, np.int64)  # hashing: a million rows, no sort

    def keep(self, key: str, make: Callable[[], Value]) -> Value:
        """What was made before under this key, else what is made now."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[no-any-return]

    # ---- one number per step

    def mean(self, values: Floats | Mask, where: Mask | None = None) -> Floats:
        """The mean of known values by step, NaN for a step without any."""
        known = np.isfinite(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
        known = known if where is None else known & where
        total = np.add.reduceat(np.where(known, values, 0.0), self.starts)
        count = np.add.reduceat(known.astype(np.float64), self.starts)
        return np.asarray(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))

    def by_step(self, of: Callable[[slice], float]) -> Floats:
        """A number for each step from the rows of it."""
        ends = np.append(self.starts[1:], len(self))
        return np.array([of(slice(lo, hi)) for lo, hi in zip(self.starts.tolist(), ends.tolist(), strict=True)])


def centred(values: Floats, group: Ints, where: Mask) -> Floats:
    """Values less the mean of their group, over the rows that count; NaN elsewhere."""
    n = int(group.max()) + 1 if len(group) else 0
    count = np.bincount(group[where], minlength=n)
    mean = np.bincount(group[where], values[where], minlength=n) / np.maximum(count, 1)
    alone = count[group] < 2
    return np.where(where & ~alone, values - mean[group], np.nan)


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan), np.float64)


def _codes(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    known = pc.fill_null(column, "") if column.null_count else column
    encoded = known.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices, np.int64), encoded.dictionary.to_pylist()
