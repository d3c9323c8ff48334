"""A set over its runs: the samples in order, with what people said of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rollscope.errors import CannotRead, NotFound, nearest
from rollscope.store import arrow
from rollscope.store.project.sample_marks import Member, SampleMarks
from rollscope.store.store import Store
from rollscope.views.samples.sample_export import Rows, rows, samples_in_order, turns

NOTHING: SampleMarks = {"star": False, "labels": [], "comments": [], "sets": []}


@dataclass(frozen=True, slots=True)
class Collected:
    """The samples of a set, as Arrow and as rows with their turns and marks."""

    name: str
    table: pa.Table
    rows: Rows
    turns: list[Rows]  # one list per row
    marks: list[SampleMarks]  # one per row
    missing: int  # samples whose run or row is gone


def collected(store: Store, name: str) -> Collected:
    """The samples of a set: run by run, in the order in which they were put in."""
    sets = store.sets()
    if name not in sets:
        known = f"there are: {', '.join(list(sets)[:20])}" if sets else "there is none yet: rollscope mark --set NAME"
        raise NotFound(f"no set {name[:80]!r}; {known}.{nearest(name, sets)}")
    parts = [part for part in (_of_run(store, run, ids) for run, ids in _by_run(sets[name]).items()) if part]
    if not parts:
        raise NotFound(f"the set {name!r} has {len(sets[name])} samples, and none of their runs can be read")
    found = [row for part in parts for row in part[1]]
    return Collected(
        name=name,
        table=pa.concat_tables([part[0] for part in parts]),
        rows=found,
        turns=[turns for part in parts for turns in part[2]],
        marks=[marks for part in parts for marks in part[3]],
        missing=len(sets[name]) - len(found),
    )


def _by_run(members: list[Member]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for member in members:
        found.setdefault(member["run"], []).append(member["sample"])
    return found


def _of_run(store: Store, id: str, ids: list[str]) -> tuple[pa.Table, Rows, list[Rows], list[SampleMarks]] | None:
    """What one run adds to a set; None if it cannot be read."""
    try:
        run = store.run(id)
    except (NotFound, CannotRead):
        return None
    table = samples_in_order(run, ids)
    found = [{**row, "run": id} for row in rows(table)]
    column = pa.array([id] * len(table), pa.large_string())
    table = table.set_column(table.column_names.index("run"), "run", column)
    of_sample, said = turns(run, found), store.sample_marks(id)
    return (
        table.drop_columns([arrow.SEQ]),
        found,
        [of_sample.get(row["id"], []) for row in found],
        [said.get(row["id"], NOTHING) for row in found],
    )


def said(marks: SampleMarks) -> dict[str, Any]:
    """The marks as columns of an export."""
    return {
        "star": marks["star"],
        "labels": marks["labels"],
        "comments": [comment["text"] for comment in marks["comments"]],
    }
