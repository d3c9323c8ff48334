"""Gather rows of names and values, as read from JSON or a table, into matrices."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.sources import Points, Skipped

WORDS = {
    "NaN": math.nan,
    "nan": math.nan,
    "Infinity": math.inf,
    "inf": math.inf,
    "-Infinity": -math.inf,
    "-inf": -math.inf,
    "Inf": math.inf,
    "-Inf": -math.inf,
}

LONGEST_NAME = 10_000  # characters
WORD = 200  # characters of a text that may be a number
SPELLED = re.compile(  # 0.5, np.float32(0.5), tensor(0.5, device='cuda:0')
    r"(?:(?:np|numpy)\.\w+\(|tensor\()?\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:, [^()]*)?\)?"
)


def number(value: Any) -> float | None:
    """The value as a float; None if it is not a number or a word such as "NaN"."""
    if isinstance(value, int | float):  # a bool is an int; trackers store it as 1.0 or 0.0
        try:
            return float(value)
        except OverflowError:  # an int too large for a float, such as 10**400
            return math.inf if value > 0 else -math.inf
    if isinstance(value, Decimal):  # of a Parquet column
        return float(value)
    return WORDS.get(value) if isinstance(value, str) else None


def spelled(value: Any) -> Any:
    """The number in a text such as "0.5", "np.float32(0.5)" or "tensor(0.5)"; else the value.

    `json.dump(default=str)` writes the numbers of numpy and torch like this.
    """
    if isinstance(value, str) and len(value) < WORD and (match := SPELLED.fullmatch(value)):
        return float(match[1])
    return value


def whole(value: Any) -> int | None:
    """A step or a count as an int64; None if the value is not a number in its range."""
    as_float = number(value)
    if as_float is None or not abs(as_float) < 2**63:
        return None
    return int(value) if isinstance(value, int) else int(as_float)


class Gather:
    """Collects one row per log call. `points()` returns them, one matrix per list of names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[tuple[str, tuple[str, ...]], list[tuple[int, int, list[float]]]] = {}
        self._not_numbers: dict[str, str] = {}  # name -> description of its first value that is not a number
        self.count = 0

    def add(self, step: int, time_ns: int, data: Mapping[str, Any], split: str = "train") -> None:
        names: list[str] = []
        values: list[float] = []
        for name, value in data.items():
            if type(value) is float:  # the usual case, without a call
                names.append(name)
                values.append(value)
            elif (as_float := number(value)) is not None:
                names.append(name)
                values.append(as_float)
            elif value is not None:
                self._not_numbers.setdefault(name, _description(value))
        if names:
            self._rows.setdefault((split, tuple(names)), []).append((step, time_ns, values))
            self.count += len(names)

    def points(self) -> Iterator[Points]:
        rows, self._rows, self.count = self._rows, {}, 0
        for (split, names), calls in rows.items():
            steps, times, values = zip(*calls, strict=True)
            kept = [i for i, name in enumerate(names) if len(name) <= LONGEST_NAME]
            numbers = np.array(values, np.float64)
            if len(kept) < len(names):
                long = next(name for name in names if len(name) > LONGEST_NAME)
                self._not_numbers[long[:40]] = f"values under a name of {len(long):,} characters"
                names, numbers = tuple(names[i] for i in kept), numbers[:, kept]
            if names:
                yield Points(names, _int64(steps), _int64(times), numbers, split=split)

    def skipped(self) -> Iterator[Skipped]:
        """The values that are not numbers, once per name."""
        skipped, self._not_numbers = self._not_numbers, {}
        for name, description in skipped.items():
            yield Skipped(f"{name!r} holds {description}, not a number: not kept", self._path)


def _int64(values: Sequence[int]) -> NDArray[np.int64]:
    """Steps or times as an array. A number that does not fit becomes the nearest one that does."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array([min(max(value, -(2**63)), 2**63 - 1) for value in values], np.int64)


def _description(value: Any) -> str:
    return f"the text {value[:40]!r}" if isinstance(value, str) else f"a {type(value).__name__}"


def run_id(name: str, *identity: object) -> str:
    """A readable folder name for an imported run; the same source always gives the same name."""
    readable = re.sub(r"[^a-zA-Z0-9._-]+", "-", name).strip("-.")[:60] or "run"
    return f"{readable}-" + digest("\0".join(map(str, identity)), 4)


def digest(text: str, size: int = 8) -> str:
    """A short hash of a text, as hexadecimal digits."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


class ByClock:
    """Rows of values, gathered apart for each clock that their steps count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of: dict[str | None, Gather] = {}

    def add(self, clock: str | None, step: int, time_ns: int, data: Mapping[str, Any]) -> None:
        self._of.setdefault(clock, Gather(self._path)).add(step, time_ns, data)

    @property
    def count(self) -> int:
        return sum(gather.count for gather in self._of.values())

    def points(self) -> Iterator[Points]:
        for clock, gather in self._of.items():
            yield from (replace(points, clock=clock) for points in gather.points())

    def skipped(self) -> Iterator[Skipped]:
        for gather in self._of.values():
            yield from gather.skipped()
