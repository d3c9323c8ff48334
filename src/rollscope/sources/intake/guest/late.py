"""A rollout that a dump told before the run recorded it: its rows become the run's sample.

First the run gets what it lacks of the sample, then the rows of the dump's own id are removed. An
import that is killed in between does the second part once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources import Records, RunStart
from rollscope.sources.intake.target import Target
from rollscope.store import arrow
from rollscope.store.schema import TABLES

from .into import Into
from .own import Own, quoted
from .told import ALWAYS, OF_SAMPLE, rest

KIND = "rollouts that came before the run had them"
NOT_COPIED = {"run", "writer", "attempt", arrow.ESCAPED}


def join(root: Path, into: Into, own: Own, pairs: Mapping[str, str]) -> None:
    """Put rollouts of dumps into the samples of the run; all logs of imports are closed."""
    from rollscope.store.seal.compact import compact
    from rollscope.store.seal.leave_out import leave_out

    target = Target(root, RunStart(id=into.run, kind=KIND), False, into.attempt, own=KIND)
    for records in _records(own, pairs):
        target.write(records)
    target.commit(root / into.run, None)
    target.close()
    leave_out(str(root / into.run), pairs.keys(), own.guests)
    compact(str(root / into.run))  # if every rollout is late, each look seals the logs of imports


def _records(own: Own, pairs: Mapping[str, str]) -> Iterator[Records]:
    """What the dump says of the rollouts and the run does not, by table."""
    rollouts = own.of_ids(sorted(set(pairs.values())))
    with_turns = _samples_with(own, "turns", pairs.values())
    pairs = {theirs: id for theirs, id in pairs.items() if id in rollouts}
    rows = [rest(row, rollouts[pairs[row["id"]]]) for row in _rows(own, "samples", "id", pairs)]
    if rows := [row for row in rows if row.keys() - ALWAYS]:
        yield Records("samples", rows)
    for table in OF_SAMPLE:
        told = {theirs: id for theirs, id in pairs.items() if table != "turns" or id not in with_turns}
        if rows := [{**row, "sample": told[row["sample"]]} for row in _rows(own, table, "sample", told)]:
            yield Records(table, rows)


def _samples_with(own: Own, table: str, ids: Any) -> set[str]:
    if not own.run.has(table) or not ids:
        return set()
    return set(own.run.sql(f"SELECT DISTINCT sample FROM {table} WHERE sample IN ({quoted(ids)})")["sample"])


def _rows(own: Own, table: str, key: str, ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows of a table as they were written."""
    if not own.run.has(table) or not ids:
        return []
    found = own.run.sql(f'SELECT * FROM {table} WHERE "{key}" IN ({quoted(ids)})', as_arrow=True)
    types = {column.name: column.type for column in TABLES[table]}
    return [_row(row, types) for row in found.to_pylist()]


def _row(row: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    cells = {name: value for name, value in row.items() if name not in NOT_COPIED and value is not None}
    escaped = set((row.get(arrow.ESCAPED) or "").split(","))
    cells |= {name: arrow.unescape(cells[name]) for name in escaped & cells.keys()}
    return {name: json.loads(value) if types[name] == "json" else value for name, value in cells.items()}
