"""Samples from the caller's thread to the drain's: whatever could still change is copied, in steps that do not grow with the number of samples.

Samples of a call are mostly alike, so they are taken column by column. One pass of the interpreter gathers the values of a key, one looks at their
types, and only a column that holds something that can change is copied value by value. A sample that lacks a key has None there, which says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from .device import Transfer, is_tensor
from .sample import Sample, as_mapping
from .value import IMMUTABLE

PIECE = 512  # samples: their values stay in a core's cache from one pass to the next, and the drain makes rows of one piece at a time
SAFE = IMMUTABLE | {str, bytes, type(None)}


@dataclass(slots=True)
class Piece:
    """Some samples of one call, in order: key -> one value a sample."""

    count: int
    columns: dict[Any, Any]  # sequences, or again a piece where every value is a dict of the same keys

    def records(self) -> list[dict[Any, Any]]:
        if not self.columns:
            return [{} for _ in range(self.count)]
        columns = [column.records() if type(column) is Piece else column for column in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def without(self, keys: Collection[str]) -> Piece:
        return Piece(self.count, {key: column for key, column in self.columns.items() if key not in keys})


def hand_over(
    samples: Any, same: Mapping[str, Any], refuse: Callable[[str], None]
) -> tuple[list[Piece] | dict[str, Any], dict[str, Any], Transfer]:
    """The caller's samples as they are now (dicts, `Sample`s, or one mapping of columns), and what holds for all. `refuse` hears of each that is none."""
    transfer = Transfer()
    if isinstance(samples, Mapping):
        taken: list[Piece] | dict[str, Any] = {str(key): frozen(value, transfer) for key, value in samples.items()}
    else:
        taken = pieces(_dicts(samples if isinstance(samples, list) else list(samples), refuse))
        for piece in taken:
            _freeze(piece, transfer)
    constant = {key: frozen(value, transfer) for key, value in same.items()}
    if transfer.anything:
        transfer.depart()
    return taken, constant, transfer


def pieces(records: Sequence[dict[Any, Any]]) -> list[Piece]:
    return [
        _alike(part) or _unlike(part) for part in (records[at : at + PIECE] for at in range(0, len(records), PIECE))
    ]


def _alike(records: Sequence[dict[Any, Any]]) -> Piece | None:
    """Dicts of the same keys as columns; None where they are not."""
    keys = records[0]
    if sum(map(len, records)) != len(keys) * len(records):
        return None
    try:
        return Piece(len(records), {key: (*map(itemgetter(key), records),) for key in keys})
    except KeyError:  # as many keys, but not the same
        return None


def _unlike(records: Sequence[dict[Any, Any]]) -> Piece:
    every = dict.fromkeys(chain.from_iterable(records))
    return Piece(len(records), {key: (*map(dict.get, records, repeat(key)),) for key in every})


def _dicts(samples: list[Any], refuse: Callable[[str], None]) -> list[dict[Any, Any]]:
    if [*map(type, samples)].count(dict) == len(samples):
        return samples
    found = []
    for sample in samples:
        try:
            found.append(
                sample if type(sample) is dict else sample.__dict__ if type(sample) is Sample else as_mapping(sample)
            )
        except TypeError as error:
            refuse(str(error))
    return found


def _freeze(piece: Piece, transfer: Transfer) -> None:
    """Copy what others could change."""
    for key, column in piece.columns.items():
        if _are_texts(column):
            continue
        types = [*map(type, column)]
        kinds = {types[0]} if types.count(types[0]) == len(types) else {*types}
        if kinds == {dict} and (nested := _alike(column)) is not None:
            piece.columns[key] = nested
            _freeze(nested, transfer)
        elif kinds == {np.ndarray}:
            piece.columns[key] = [value.copy() for value in column]
        elif not kinds <= SAFE:
            piece.columns[key] = [frozen(value, transfer) for value in column]


def _are_texts(column: tuple[Any, ...]) -> bool:
    """Is every value a text? `startswith` refuses anything else, and asking the empty text ends at once for each: a third of the cost of their types."""
    try:
        return type(column[0]) is str and not "".startswith(column)
    except TypeError:
        return False


def frozen(value: Any, transfer: Transfer) -> Any:
    """A value that does not change when the caller's does."""
    if type(value) in SAFE:
        return value
    if type(value) is dict:
        return (
            value.copy()
            if SAFE.issuperset(map(type, value.values()))
            else {k: frozen(v, transfer) for k, v in value.items()}
        )
    if isinstance(value, (np.ndarray, set, bytearray)):
        return value.copy()
    if is_tensor(value):
        return transfer.send(value)
    if isinstance(value, Mapping):
        return {k: frozen(v, transfer) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return list(value) if SAFE.issuperset(map(type, value)) else [frozen(v, transfer) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {k: frozen(v, transfer) for k, v in as_mapping(value).items()}
    return value
