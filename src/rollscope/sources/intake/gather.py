"""Rows of names and values, as they come out of JSON or a table, gathered into matrices."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

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

SPELLED = re.compile(
    r"(?:(?:np|numpy)\.\w+\(|tensor\()?\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:, [^()]*)?\)?"
)


def number(value: Any) -> float | None:
    """A number, however it was spelled; None for what is not one."""
    if isinstance(value, int | float):  # bool is an int, and 1.0 is what trackers make of it
        try:
            return float(value)
        except OverflowError:  # an int beyond any float, as 1e400 is
            return math.inf if value > 0 else -math.inf
    return WORDS.get(value) if isinstance(value, str) else None


def spelled(value: Any) -> Any:
    """A number that was written as text, as `json.dump(default=str)` leaves those of numpy and torch: "0.5", "np.float32(0.5)", "tensor(0.5)"."""
    if isinstance(value, str) and (match := SPELLED.fullmatch(value)):
        return float(match[1])
    return value


def whole(value: Any) -> int | None:
    """A step, or a count: a whole number that a column can hold; None for what is not one."""
    found = number(value)
    if found is None or not abs(found) < 2**63:
        return None
    return int(value) if isinstance(value, int) else int(found)


class Gather:
    """Collects one row per log call; `points()` gives them as one matrix for each list of names, and forgets them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[tuple[str, tuple[str, ...]], list[tuple[int, int, list[float]]]] = {}
        self._odd: dict[str, str] = {}  # name -> what stood there instead of a number
        self.count = 0

    def add(self, step: int, time_ns: int, data: Mapping[str, Any], split: str = "train") -> None:
        names: list[str] = []
        values: list[float] = []
        for name, value in data.items():
            if type(value) is float:  # the usual case, without a call
                names.append(name)
                values.append(value)
            elif (found := number(value)) is not None:
                names.append(name)
                values.append(found)
            elif value is not None:
                self._odd.setdefault(name, _kind(value))
        if names:
            self._rows.setdefault((split, tuple(names)), []).append((step, time_ns, values))
            self.count += len(names)

    def points(self) -> Iterator[Points]:
        rows, self._rows, self.count = self._rows, {}, 0
        for (split, names), calls in rows.items():
            steps, times, values = zip(*calls, strict=True)
            yield Points(
                names, np.array(steps, np.int64), np.array(times, np.int64), np.array(values, np.float64), split=split
            )

    def skipped(self) -> Iterator[Skipped]:
        """What was no number, once per name."""
        odd, self._odd = self._odd, {}
        for name, what in odd.items():
            yield Skipped(f"{name!r} holds {what}, not a number: not kept", self._path)


def _kind(value: Any) -> str:
    return f"the text {value[:40]!r}" if isinstance(value, str) else f"a {type(value).__name__}"


def run_id(name: str, *identity: object) -> str:
    """A folder name for an imported run: readable, and always the same for the same source."""
    digest = hashlib.blake2b("\0".join(map(str, identity)).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^a-zA-Z0-9._-]+', '-', name).strip('-.')[:60] or 'run'}-{digest}"
