"""How much text and how many token arrays are kept: `"all"`, every n-th sample (an int), or a size (`"5GB"`, or a float of gigabytes).

Whatever the budget, discarded samples and those with the highest and lowest reward of a call are kept first. A size is not spent at the start of a run: after
half of it every second sample is kept, after three quarters every fourth, and so on. What was thinned is counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rollscope.errors import BadInput

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class Budget:
    def __init__(self, keep: str | int | float, columns: Collection[str], name: str) -> None:
        self.every, self.size = _read(keep, name)
        self.columns = frozenset(columns)
        self.said = f"{name}={keep!r}"
        self.spent = 0
        self.thinned = 0
        self._turn = 0

    def apply(self, rows: Sequence[dict[str, Any]]) -> int:
        """Take the columns off the rows that the budget does not cover; how many rows lost something."""
        if self.every == 1 and (math.isinf(self.size) or self._is_small(rows)):
            return 0
        kept_first = first(rows)
        lost = 0
        for i, row in enumerate(rows):
            has = self.columns & row.keys()
            if not has:
                continue
            cost = sum(_bytes(row[c]) for c in has)
            if self._keeps(i in kept_first, cost):
                self.spent += cost
                continue
            for column in has:
                del row[column]
            row["extra"] = {**row.get("extra", {}), "thinned": sorted({*row.get("extra", {}).get("thinned", ()), *has})}
            lost += 1
        self.thinned += lost
        return lost

    def _is_small(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Before half of the budget is spent every sample is kept: then nothing needs to be chosen."""
        cost = sum(_bytes(row[c]) for row in rows for c in self.columns & row.keys())
        if self.spent + cost >= self.size / 2:
            return False
        self.spent += cost
        return True

    def _keeps(self, is_first: bool, cost: int) -> bool:
        if self.spent + cost > self.size:
            return False
        left = 1 - self.spent / self.size
        every = max(self.every, 2 ** int(-math.log2(max(left, 1e-9))))
        self._turn += 1
        return is_first or self._turn % every == 1 % every


def first(rows: Sequence[Mapping[str, Any]]) -> set[int]:
    """Which rows are kept before others: discarded ones, and the extremes of the reward."""
    chosen = {
        i
        for i, row in enumerate(rows)
        if row.get("discard_reason") is not None or row.get("trained") is False or row.get("error") is not None
    }
    scored = [(row["reward"], i) for i, row in enumerate(rows) if isinstance(row.get("reward"), float)]
    if len(scored) > 2:
        chosen |= {max(scored)[1], min(scored)[1]}
    return chosen


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    size = getattr(value, "nbytes", None)
    return int(size) if size is not None else len(str(value))


def _read(keep: str | int | float, name: str) -> tuple[int, float]:
    """(every n-th, bytes)."""
    if keep == "all" or keep is True:
        return 1, math.inf
    if keep is False or keep == 0 or keep == "none":
        return 1, 0.5  # less than any text
    if isinstance(keep, int) and keep > 0:
        return keep, math.inf
    if isinstance(keep, float) and keep > 0:
        return 1, keep * 10**9
    found = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?B?)\s*", str(keep).upper())
    if found is None:
        raise BadInput(
            f'{name}={keep!r} is not a budget. Say "all", "none", every how many samples (an int), or a size such as "5GB".'
        )
    unit = found[2] if found[2].endswith("B") or not found[2] else found[2] + "B"
    return 1, float(found[1]) * _UNITS[unit]
