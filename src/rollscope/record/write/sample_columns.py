"""Rows of `samples` that stay columns on their way to the log.

Samples of a call come as columns and are stored as columns. Where a column holds what the schema
says, it is passed on whole; only the values of the others are looked at one by one, by the code
that makes rows. Both ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from rollscope.record.caller.handover import OURS, Chunk
from rollscope.record.caller.sample import Turns
from rollscope.store.log.lists import Lists
from rollscope.store.schema import SAMPLES

from . import turn_columns
from .columns import Columns, Values
from .sample_rows import ARRAYS, COUNTS, EXACT, MEMBERS, RowBuilder

FEW = 8  # samples: fewer share a block with those of the next calls
TOLD = ("id", "step", *sorted(COUNTS), "tool_failures")  # what decides how other values of a sample are read
_TYPES = {**EXACT, **dict.fromkeys(COUNTS, int)}
_JSON = frozenset(column.name for column in SAMPLES if column.type == "json") - {"extra"}
_NUMERIC = "biuf"  # kinds of numpy that every column of lists takes


def columns(
    builder: RowBuilder, chunk: Chunk, step: int | None, time_ns: int, common: Mapping[str, Any]
) -> tuple[Columns, Columns | list[dict[str, Any]]]:
    """The rows of `samples` as columns, and those of `turns`; see `RowBuilder.rows`."""
    given = _filled(chunk, common)
    known = {name: _plain(name, values) for name, values in given.items() if _fits(name, values)}
    odd = {name: values for name, values in given.items() if name not in known}
    told = odd.get("turns")
    if odd and not (len(odd) == 1 and turn_columns.fit(told)):
        odd |= {name: given[name] for name in TOLD if name in given}
        rows, turns = _one_by_one(builder, Chunk(chunk.count, odd), step, time_ns)
        return Columns(chunk.count, known | rows), turns
    known["id"] = _where_none(known.get("id"), chunk.count, builder.new_id)
    known["step"] = _where_none(known.get("step"), chunk.count, lambda: step)
    known["time_ns"] = [time_ns] * chunk.count
    if told is None:
        return Columns(chunk.count, known), []
    return Columns(chunk.count, known | turn_columns.counts(told, known)), turn_columns.columns(told, known)


def _one_by_one(
    builder: RowBuilder, chunk: Chunk, step: int | None, time_ns: int
) -> tuple[dict[str, Values], list[dict[str, Any]]]:
    """The columns of values that must be looked at, and the rows of `turns`."""
    turns: list[dict[str, Any]] = []
    rows = [builder.row(record, step, time_ns, turns) for record in chunk.records()]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}, turns


def _filled(chunk: Chunk, common: Mapping[str, Any]) -> dict[Any, Any]:
    """The columns, with the value that all samples have where one does not say its own."""
    given = dict(chunk.columns)
    for name, value in common.items():
        if type(given.get(name)) not in (Chunk, *OURS):
            given[name] = _where_none(given.get(name), chunk.count, partial(_itself, value))
    return given


def _itself(value: Any) -> Any:
    return value


def _where_none(values: Values | None, count: int, make: Callable[[], Any]) -> Values:
    if values is None:
        return [make() for _ in range(count)]
    return [make() if value is None else value for value in values]


def _plain(name: str, values: Any) -> Values:
    """A column that fits, in the type of its column."""
    if type(values) is Lists and values.values.dtype != ARRAYS[name]:
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite
            return Lists(values.values.astype(ARRAYS[name]), values.lengths)
    return values.records() if type(values) is Chunk else values


def _fits(name: Any, values: Any) -> bool:
    """Does the column hold what the schema says, in types that need no look at each value?"""
    if type(values) is Lists:
        return name in ARRAYS and values.values.dtype.kind in _NUMERIC
    if type(values) in (Chunk, Turns):
        return name in _JSON and type(values) is Chunk
    kinds = {*map(type, values)} - {NoneType}
    if name in ARRAYS:
        return kinds <= {np.ndarray} and {value.dtype for value in values if value is not None} <= {ARRAYS[name]}
    if name in _JSON:
        return kinds <= ({dict} if name in MEMBERS else {dict, list})
    return name in _TYPES and kinds <= {_TYPES[name]}
