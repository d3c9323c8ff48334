"""All rows of one archive, or of one run of a database, that were not there at the last import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Records
from rollscope.sources.intake.gather import Gather, whole

from . import samples, spans
from .spans import Rows, Table

IDENTITY = {  # table -> the columns that identify a row
    "samples": ("id",),
    "turns": ("sample", "turn", "role"),
    "spans": ("name", "lane", "start_ns"),
    "host": ("time_ns", "device", "name"),
    "notes": ("time_ns", "text"),
}


def items(table: Table, path: Path, seen: set[str]) -> Iterator[Item]:
    """The rows whose identity is not in `seen`, which is updated."""
    for name, rows in _tables(table):
        fresh = [row for row in rows if _is_new(f"{name}/{_identity(name, row)}", seen)]
        if fresh:
            yield Records(name, fresh)
    gather = Gather(path)
    for row in [*table("metrics"), *table("step_metrics")]:  # in an archive, and in the database
        if _is_new(f"metrics/{row['step']}/{_metric(row)}", seen):
            gather.add(whole(row["step"]) or 0, 0, {_metric(row): row["value"]})
    yield from gather.points()


def _tables(table: Table) -> Iterator[tuple[str, Rows]]:
    for suffix, reason in samples.FATES.items():
        trained, turns = samples.samples(table, suffix, reason)
        yield "samples", trained
        yield "turns", turns
    yield "samples", samples.evaluated(table)
    yield "spans", [*spans.trainer(table), *spans.rollouts(table)]
    yield "host", spans.host(table)
    yield "notes", spans.logs(table)


def _is_new(key: str, seen: set[str]) -> bool:
    if key in seen:
        return False
    seen.add(key)
    return True


def _identity(table: str, row: Mapping[str, Any]) -> str:
    return "/".join(str(row.get(key)) for key in IDENTITY[table])


def _metric(row: Mapping[str, Any]) -> str:
    """The name that was logged. Telescope splits it into section, group and metric."""
    parts = [row.get("section"), row.get("group"), row.get("metric_name") or row["metric"]]
    return "/".join(str(part) for part in parts if part and str(part).lower() != "general")
