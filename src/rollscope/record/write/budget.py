"""How much text and how many token arrays are kept.

A budget is "all", "none", every n-th sample (an int), or a size ("5GB", or a float of gigabytes).
Whatever the budget, discarded samples and those with the highest and the lowest reward of a call
are kept first. A size lasts: after half of it every second sample is kept, after three quarters
every fourth, and so on. Thinned samples are counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rollscope.errors import BadInput
from rollscope.record.loss import ODD
from rollscope.store.log.lists import ColumnValues, Lists

from .columns import Columns

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class Budget:
    """Decides for some columns which rows may keep them."""

    def __init__(self, keep: str | int | float, columns: Collection[str], name: str) -> None:
        self.every, self.size = _parse(keep, name)
        self.columns = frozenset(columns)
        self.setting = f"{name}={keep!r}"
        self.spent = 0  # bytes
        self._turn = 0

    def apply(self, rows: Sequence[dict[str, Any]]) -> int:
        """Remove the columns from rows that the budget does not cover.

        Returns how many rows lost some.
        """
        if self.is_unlimited or (self.every == 1 and self._is_small(rows)):
            return 0
        favoured = kept_first(rows)
        lost = 0
        for i, row in enumerate(rows):
            columns = self.columns & row.keys()
            if not columns:
                continue
            cost = sum(_bytes(row[column]) for column in columns)
            if self._keeps(i in favoured, cost):
                self.spent += cost
            else:
                _thin(row, columns)
                lost += 1
        return lost

    @property
    def is_unlimited(self) -> bool:
        return self.every == 1 and math.isinf(self.size)

    @property
    def keeps_all(self) -> bool:
        """Is a call kept whole? It is in the first half of a size."""
        return self.every == 1 and self.spent < self.size / 2

    def take(self, columns: Columns) -> bool:
        """Let every row of the columns keep what it has; False if some rows must lose it."""
        if self.is_unlimited:
            return True
        cost = sum(map(_bytes_of_column, (columns.values[name] for name in self.columns & columns.values.keys())))
        return self._spend(cost)

    def _is_small(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Do the rows fit into the first half of the budget, where every sample is kept?"""
        return self._spend(sum(_bytes(row[column]) for row in rows for column in self.columns & row.keys()))

    def _spend(self, cost: int) -> bool:
        """Spend it in the first half of the budget, where every sample is kept; False beyond."""
        if self.spent + cost >= self.size / 2:
            return False
        self.spent += cost
        return True

    def _keeps(self, is_favoured: bool, cost: int) -> bool:
        if self.spent + cost > self.size:
            return False
        left = 1 - self.spent / self.size
        every = max(self.every, 2 ** int(-math.log2(max(left, 1e-9))))
        self._turn += 1
        return is_favoured or self._turn % every == 1 % every


def _thin(row: dict[str, Any], columns: Collection[str]) -> None:
    """Remove the columns and name them under `extra`."""
    for column in columns:
        del row[column]
    row["extra"] = {**row.get("extra", {}), "thinned": sorted({*thinned_columns(row), *columns})}


def thinned_columns(row: Mapping[str, Any]) -> set[str]:
    """The columns that a row has lost, as far as its `extra` says so."""
    thinned = row.get("extra", {}).get("thinned")
    return {name for name in thinned if isinstance(name, str)} if isinstance(thinned, list) else set()


def kept_first(rows: Sequence[Mapping[str, Any]]) -> set[int]:
    """Indices of the rows that are kept first: discarded ones, and the extremes of the reward."""
    chosen = {i for i, row in enumerate(rows) if _is_discarded(row)}
    scored = [(row["reward"], i) for i, row in enumerate(rows) if isinstance(row.get("reward"), float)]
    if len(scored) > 2:
        chosen |= {max(scored)[1], min(scored)[1]}
    return chosen


def _is_discarded(row: Mapping[str, Any]) -> bool:
    return row.get("discard_reason") is not None or row.get("trained") is False or row.get("error") is not None


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, np.ndarray):
        return value.nbytes
    try:
        return len(str(value))
    except ODD:  # a value that has no text; encoding reports it
        return 0


def _bytes_of_column(values: ColumnValues) -> int:
    if type(values) is Lists:
        return values.values.nbytes
    return sum(_bytes(value) for value in values if value is not None)


def _parse(keep: str | int | float, name: str) -> tuple[int, float]:
    """(every n-th sample, bytes)."""
    if keep == "all" or keep is True:
        return 1, math.inf
    if keep is False or keep == 0 or keep == "none":
        return 1, 0.5  # less than any text
    if isinstance(keep, int) and keep > 0:
        return keep, math.inf
    if isinstance(keep, float) and keep > 0:
        return 1, keep * 10**9
    match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?B?)\s*", str(keep).upper())
    if match is None:
        raise BadInput(
            f"{name}={keep!r} is not a budget. "
            'Say "all", "none", every how many samples (an int), or a size such as "5GB".'
        )
    unit = match[2] if match[2].endswith("B") or not match[2] else match[2] + "B"
    return 1, float(match[1]) * _UNITS[unit]
