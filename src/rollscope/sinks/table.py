"""Samples as a table, for the libraries that have tables: each gets the same columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from . import Row
from .numbers import speakable

COLUMNS = (
    "step",
    "id",
    "group",
    "prompt",
    "completion",
    "reward",
    "advantage",
    "stop_reason",
    "completion_tokens",
    "trained",
    "discard_reason",
    "rewards",
)


def cells(step: int | None, data: Mapping[str, Any]) -> list[Any]:
    """One sample as a row of the table. Mappings and lists become JSON text."""
    values = [step, *(data.get(column) for column in COLUMNS[1:])]
    plain = [speakable(value) for value in values]
    return [json.dumps(value) if isinstance(value, dict | list) else value for value in plain]


def by_step(rows: Iterable[Row]) -> Iterable[tuple[int | None, list[list[Any]]]]:
    """(step, table) for each stretch of samples with the same step, in the order they came."""
    for step, group in groupby((row for row in rows if row.table == "samples"), key=lambda row: row.step):
        yield step, [cells(step, row.data) for row in group]
