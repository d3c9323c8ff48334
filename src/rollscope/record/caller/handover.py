"""Samples on their way from the caller's thread to the drain: what could change is copied.

Samples of a call are mostly alike, so they are taken column by column. One pass of the interpreter
gathers the values of a key, one looks at their types, and only a column that holds something
mutable is copied value by value. A sample that lacks a key has None there, which means the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from rollscope.record.loss import ODD, Lose, one_line
from rollscope.store.log.lists import Lists

from .device import Transfer
from .frozen import SAFE, Copier, copies, frozen_fields, listed, read
from .sample import Sample, Turns, as_mapping

CHUNK = 512  # samples: their values stay in a core's cache, and the drain writes one chunk at a time
DEEPEST = 4  # dicts inside each other that are taken column by column
OURS = (Lists, Turns)  # columns that only our own sources make, of values that nobody changes


@dataclass(slots=True)
class Chunk:
    """Some samples of one call, in order: key -> one value a sample."""

    count: int
    columns: dict[Any, Any]  # sequences, `OURS`, or a chunk where every value is a dict with the same keys

    def records(self) -> list[dict[Any, Any]]:
        if not self.columns:
            return [{} for _ in range(self.count)]
        columns = [column.records() if type(column) is Chunk else column for column in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def without(self, keys: Collection[str]) -> Chunk:
        return Chunk(self.count, {key: column for key, column in self.columns.items() if key not in keys})


def hand_over(
    samples: Any, same: Mapping[str, Any], lose: Lose
) -> tuple[list[Chunk] | dict[str, Any], dict[str, Any], Transfer]:
    """The caller's samples as they are now, the values common to all of them, and their transfer.

    Samples are dicts, `Sample`s, or one mapping of columns. An item that is not a sample, and a
    value that cannot be copied, cost themselves alone and are counted by `lose`.
    """
    transfer = Transfer()
    copier = Copier(transfer)
    if isinstance(samples, Mapping):
        columns = read(samples, lose, "the samples")
        taken: list[Chunk] | dict[str, Any] = _of_columns(columns, copier, lose)
    else:
        taken = _chunks(_dicts(listed(samples, lose, "samples"), lose), copier, lose)
    common = frozen_fields(same, copier, lose, "the samples")
    if transfer.is_needed:
        transfer.depart()
    return taken, common, transfer


def _of_columns(columns: dict[Any, Any], copier: Copier, lose: Lose) -> list[Chunk] | dict[str, Any]:
    """Chunks if every column is a list with one value a sample; else the drain tells them apart."""
    lengths = {len(values) if type(values) in (list, *OURS) else -1 for values in columns.values()}
    if len(lengths) == 1 and -1 not in lengths and {*map(type, columns)} == {str}:
        starts = range(0, max(lengths), CHUNK)
        parts = [{key: _part(values, at) for key, values in columns.items()} for at in starts]
        with contextlib.suppress(*ODD):  # another thread changed a value
            return [_frozen(Chunk(len(part[next(iter(part))]), part), copier, lose) for part in parts]
    apart = {key: [*values] if isinstance(values, OURS) else values for key, values in columns.items()}
    return frozen_fields(apart, copier, lose, "the samples")


def _part(values: list[Any] | Lists | Turns, start: int) -> tuple[Any, ...] | Lists | Turns:
    """The values of a chunk, in a copy."""
    if isinstance(values, Turns):
        return values.part(start, start + CHUNK)
    part = values[start : start + CHUNK]
    return part.copy() if type(part) is Lists else (*part,)


def _chunks(records: list[dict[Any, Any]], copier: Copier, lose: Lose) -> list[Chunk]:
    try:
        return [_frozen(chunk, copier, lose) for chunk in chunks(records)]
    except ODD:  # odd keys, or another thread changed a sample: one at a time
        return [chunk for record in records for chunk in _one(record, copier, lose)]


def _one(record: dict[Any, Any], copier: Copier, lose: Lose) -> list[Chunk]:
    try:
        return [_frozen(chunk, copier, lose) for chunk in chunks([record.copy()])]
    except ODD as error:
        lose("samples", f"a sample could not be read: {one_line(error)}")
        return []


def chunks(records: Sequence[dict[Any, Any]]) -> list[Chunk]:
    parts = (records[start : start + CHUNK] for start in range(0, len(records), CHUNK))
    return [_same_keys(part) or _any_keys(part) for part in parts]


def _same_keys(records: Sequence[dict[Any, Any]]) -> Chunk | None:
    """The columns of dicts with the same keys; None if their keys differ."""
    keys = records[0]
    if sum(map(len, records)) != len(keys) * len(records):
        return None
    try:
        return Chunk(len(records), {key: (*map(itemgetter(key), records),) for key in keys})
    except KeyError:  # as many keys, but others
        return None


def _any_keys(records: Sequence[dict[Any, Any]]) -> Chunk:
    keys = dict.fromkeys(chain.from_iterable(records))
    return Chunk(len(records), {key: (*map(dict.get, records, repeat(key)),) for key in keys})


def _dicts(samples: list[Any], lose: Lose) -> list[dict[Any, Any]]:
    if [*map(type, samples)].count(dict) == len(samples):
        return samples
    records = []
    for sample in samples:
        if type(sample) is dict:
            records.append(sample)
        elif type(sample) is Sample:
            records.append(sample.__dict__)
        else:
            try:
                records.append(as_mapping(sample))
            except TypeError as error:
                lose("samples", str(error))
            except ODD as error:
                lose("samples", f"a sample could not be read: {one_line(error)}")
    return records


def _frozen(chunk: Chunk, copier: Copier, lose: Lose, depth: int = 0) -> Chunk:
    """The chunk, with a copy of every value that the caller could change."""
    for key, column in chunk.columns.items():
        if isinstance(column, OURS) or _are_texts(column):
            continue
        types = [*map(type, column)]
        kinds = {types[0]} if types.count(types[0]) == len(types) else {*types}
        if kinds == {dict} and depth < DEEPEST and (nested := _same_keys(column)) is not None:
            chunk.columns[key] = _frozen(nested, copier, lose, depth + 1)
        elif kinds == {np.ndarray}:
            chunk.columns[key] = [value.copy() for value in column]
        elif not kinds <= SAFE:
            chunk.columns[key] = copies(column, copier, lose, key)
    return chunk


def _are_texts(column: tuple[Any, ...]) -> bool:
    """Is every value a text?

    `startswith` rejects anything else, and the empty text ends each comparison at once. This takes
    a third of the time that looking at the types takes.
    """
    try:
        return type(column[0]) is str and not "".startswith(column)
    except TypeError:
        return False
