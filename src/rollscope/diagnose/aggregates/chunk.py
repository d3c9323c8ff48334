"""Samples of some steps as numpy columns, sorted by step; words are codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store import arrow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Value = TypeVar("Value")


class Chunk:
    """Some samples of training, in step order. A column is converted when it is first asked for."""

    def __init__(self, rows: pa.Table) -> None:
        rows = _of_training(rows)
        step = arrow.filled(rows["step"], 0)
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
        return self.keep(f"{column}?", lambda: arrow.filled(self.rows[column], False))

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
        return codes_of(key)

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


def codes_of(key: Ints) -> Ints:
    """A number for each distinct key, in order of appearance. A sort would take longer."""
    return arrow.filled(pa.array(key).dictionary_encode().indices, 0).astype(np.int64)


def _of_training(rows: pa.Table) -> pa.Table:
    """Samples of a step, without those of evaluations; nearly always all, and not copied."""
    keep = ~arrow.missing(rows["step"])
    if "split" in rows.column_names and rows["split"].null_count < len(rows):
        keep &= arrow.filled(pc.fill_null(pc.not_equal(rows["split"], "eval"), True), True)
    return rows if keep.all() else rows.filter(pa.array(keep))


def _floats(column: pa.ChunkedArray) -> Floats:
    return arrow.filled(column.cast(pa.float64(), safe=False), np.nan)


def _codes(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Neighbours often have the same word, so stretches of it are encoded, not rows."""
    known = pc.fill_null(column, "") if column.null_count else column
    stretches = pc.run_end_encode(known.combine_chunks(), run_end_type=pa.int64())
    encoded = stretches.values.dictionary_encode()
    ends = arrow.filled(stretches.run_ends, 0)
    codes = np.repeat(arrow.filled(encoded.indices, 0).astype(np.int64), np.diff(ends, prepend=0))
    return codes, encoded.dictionary.to_pylist()
