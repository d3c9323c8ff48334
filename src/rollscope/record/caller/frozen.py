"""Copies of what a caller could change, bounded in depth and in number.

A value that holds itself, or that a few lines have made huge, raises `TooMuch`; it costs itself
alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from itertools import islice
from typing import Any

import numpy as np

from rollscope.record.loss import ODD, Lose, one_line

from .device import Transfer, is_tensor
from .label import text
from .sample import as_mapping
from .value import IMMUTABLE

SAFE = IMMUTABLE | {str, bytes, type(None)}
DEEPEST = 64  # lists and mappings inside each other
MOST_ITEMS = 1_000_000  # of one iterator, which may be endless
MOST = 50_000  # lists and mappings inside one value


class TooMuch(ValueError):
    """A value that is nested too deeply, or in too many parts."""


class Copier:
    """Copies values; tensors go through its transfer."""

    __slots__ = ("_left", "_most", "_transfer")

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._left = self._most = MOST

    def __call__(self, value: Any) -> Any:
        """A value that does not change when the caller's does."""
        if type(value) in SAFE:
            return value
        self._left = self._most
        try:
            return self._copy(value, 0)
        except TooMuch:
            self._most = max(self._most // 8, 100)  # a call with many of them must not take seconds
            raise

    def _copy(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in SAFE:
            return value
        self._left -= 1
        if depth > DEEPEST or self._left < 0:
            raise TooMuch(f"it holds itself, or more than {DEEPEST} levels or {MOST:,} parts")
        if kind is dict:
            return self._mapping(value.copy(), depth)  # another thread may add to it meanwhile
        if kind is list or isinstance(value, (list, tuple, deque)):
            return self._list(list(value), depth)
        if isinstance(value, (np.ndarray, set, bytearray)):
            return value.copy()
        if is_tensor(value):
            return self._transfer.send(value)
        if isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type)):
            return self._mapping(as_mapping(value), depth)
        return value

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        if SAFE.issuperset(map(type, value.values())):
            return value
        return {key: self._copy(inner, depth + 1) for key, inner in value.items()}

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        return value if SAFE.issuperset(map(type, value)) else [self._copy(inner, depth + 1) for inner in value]


def frozen_fields(fields: Mapping[Any, Any], copier: Copier, lose: Lose, of: str) -> dict[str, Any]:
    """A copy of named values, with text for names. A value that cannot be copied is left out."""
    kept = {}
    for key, value in fields.items():
        name = key if type(key) is str else text(key, lose)
        try:
            kept[name] = copier(value)
        except ODD as error:
            lose("values", f"{name!r} of {of} could not be copied: {one_line(error)}")
    return kept


def frozen_row(row: Mapping[Any, Any], lose: Lose, of: str) -> dict[str, Any]:
    """A copy of a row's values. Those that cannot be copied are left out."""
    return frozen_fields(row, Copier(Transfer()), lose, of)


def copies(values: Iterable[Any], copier: Copier, lose: Lose, name: Any) -> list[Any]:
    """Copies of the values of one column, with None for each that cannot be copied."""
    copied = []
    for value in values:
        try:
            copied.append(copier(value))
        except ODD as error:
            lose("values", f"{text(name, lose)!r} of a sample could not be copied: {one_line(error)}")
            copied.append(None)
    return copied


def listed(values: Any, lose: Lose, what: str) -> list[Any]:
    """The items of an iterable as far as it goes, at most `MOST_ITEMS`. Raises if it is none."""
    if isinstance(values, list):
        return values
    items, iterator = [], iter(values)
    try:
        for item in islice(iterator, MOST_ITEMS):
            items.append(item)
    except ODD as error:
        lose(what, f"the caller's iterator raised {one_line(error)}; those before it are kept")
    if len(items) == MOST_ITEMS:
        lose(what, f"one call takes at most {MOST_ITEMS:,}")
    return items


def read(mapping: Any, lose: Lose, of: str) -> dict[Any, Any]:
    """A mapping as a dict. A value that it does not give out is left out and counted."""
    try:
        return dict(mapping)
    except ODD:
        if not isinstance(mapping, Mapping):
            raise
    values = {}
    for key in list(mapping):
        try:
            values[key] = mapping[key]
        except ODD as error:
            lose("values", f"{text(key, lose)!r} of {of} could not be read: {one_line(error)}")
    return values
