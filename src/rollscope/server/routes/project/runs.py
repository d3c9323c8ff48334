"""Runs: the list, one of them, its names, and the tape that is on every page of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request

from rollscope.diagnose import Rule, all_rules
from rollscope.diagnose.finding import FindingShape
from rollscope.diagnose.hidden import hidden
from rollscope.server.deps import Lib, RunId
from rollscope.server.doctor import Doctor
from rollscope.server.library import Library
from rollscope.server.listing.deltas import DeltasShape, ProjectDeltas, against
from rollscope.server.listing.finding_counts import FindingCounts
from rollscope.server.listing.page import page, people
from rollscope.server.listing.run_rows import RunRows
from rollscope.server.reply import as_json
from rollscope.server.shapes import LastValuesShape, MetricCounts, Names, RunDetail, RunList, StillList, Tape
from rollscope.store.listing.entries import Entry
from rollscope.store.project.marks import NONE, marks
from rollscope.store.run import Run
from rollscope.strict_json import plain
from rollscope.views.charts.still import still_names
from rollscope.views.dictionary import by_our_names
from rollscope.views.health.vitals import WatchList, watch_list
from rollscope.views.metric_info import FoundList, NameList, found_list, name_list
from rollscope.views.summary.run_notes import edited, output_lines, run_notes
from rollscope.views.summary.run_row import RunRow, run_row
from rollscope.views.summary.tape import tape as tape_series

from .log import edits_of

router = APIRouter(tags=["runs"])
MOST_COLUMNS = 50  # of metrics in the list of runs
ENDED_BADLY = ("crashed", "killed")
AnyName = Annotated[str, Query(max_length=400, description="name, ours or any framework's")]
Newest = Annotated[int | None, Query(ge=1, le=100_000, description="only so many; `pending` counts the others")]
Dialect = Annotated[str | None, Query(max_length=80, description="whose name it is, such as trl:grpo")]


@router.get("/runs")
@as_json
def index(request: Request, library: Lib, newest: Newest = None) -> RunList:
    """Every run of the store, newest first.

    While a store of thousands of runs is read for the first time, `pending` counts those to come;
    an event tells when to ask again.
    """
    rows: RunRows = request.app.state.rows
    said = len(request.app.state.project.follow())  # what somebody just said is in their next answer
    answer = rows.answer((newest, said), lambda: _index(request, library, newest))
    return answer  # type: ignore[return-value]  # the same shape, encoded already


def _index(request: Request, library: Library, newest: int | None) -> bytes:
    rows: RunRows = request.app.state.rows
    known, pending = rows.rows()
    folder, entries = os.path.abspath(library.path), {entry.id: entry for entry in library.entries()}
    counts: FindingCounts = request.app.state.counts
    said = marks(request.app.state.project)
    return page(known, pending, folder, said, lambda id: _counts(counts, entries.get(id)), newest)


@router.get("/runs/metrics")
@as_json
def metrics(request: Request) -> MetricCounts:
    """Every metric of any run, with the number of runs that log it: what a column can show."""
    names, pending = request.app.state.values.names()
    return {"names": names, "pending": pending}


@router.get("/runs/values")
@as_json
def values(request: Request, name: Annotated[list[str], Query(max_length=MOST_COLUMNS)]) -> LastValuesShape:
    """The last value of some metrics in every run that logs them."""
    found, pending = request.app.state.values.of(name)
    return {"values": found, "pending": pending}


@router.get("/runs/deltas")
@as_json
def deltas(request: Request, library: Lib) -> DeltasShape:
    """Runs and configurations against the baseline of their project, where one was chosen."""
    known: RunRows = request.app.state.rows
    chosen: dict[str, str] = request.app.state.project.current("baseline")
    answer: dict[str, ProjectDeltas] = {}
    for project, baseline in chosen.items():
        rows = [kept.whole() for kept in known.rows()[0] if kept.facts["project"] == project]
        if (found := against(library, rows, baseline)) is not None:
            answer[project] = found
    return {"projects": answer}


@router.get("/runs/{run}")
@as_json
def show(request: Request, library: Lib, run: RunId) -> RunDetail:
    """One run: its configuration, where it ran, its notes, and any damage to its files."""
    # Look at the other runs before this one is locked: two requests that lock each other's runs
    # would wait for ever.
    rows: RunRows = request.app.state.rows
    slot, findings = rows.slot(run), _counts(request.app.state.counts, library.entry(run))
    said = marks(request.app.state.project).get(run, NONE)
    with library.reading(run) as reader:
        now = _row_now(library, run, reader)
        row: RunRow = {**now, **people(now, said), "slot": slot, "findings": findings}  # type: ignore[typeddict-item]
        return {
            "run": row,
            "config": plain(reader.config, surrogates=True),
            "environment": plain(reader.facts.get("environment") or {}, surrogates=True),
            "declared": plain(reader.declared, surrogates=True),
            "damage": [{"file": os.path.basename(d.path), "byte": d.offset, "says": d.says} for d in reader.damage],
            "notes": edited(run_notes(reader), edits_of(request, run)),
            "output": output_lines(reader) if row["state"] in ENDED_BADLY else [],
            "checkpoint": str(reader.facts.get("checkpoint") or ""),
            "last_ok_step": row["step"],
        }


@router.get("/runs/{run}/names")
@as_json
def names(library: Lib, run: RunId) -> Names:
    """Every metric of a run, what a chart needs to know about it, and which to watch."""
    with library.reading(run) as reader:
        return {**remembered_names(reader), "watched": reader.remember("watched", lambda: _watched(reader))}


@router.get("/runs/{run}/still")
@as_json
def still(library: Lib, run: RunId) -> StillList:
    """Names whose values never change, or that have none."""
    with library.reading(run) as reader:
        return {"names": reader.remember("still", lambda: still_names(reader))}


@router.get("/runs/{run}/find")
@as_json
def find(library: Lib, run: RunId, name: AnyName, dialect: Dialect = None) -> FoundList:
    """The series of a run that a name means, ours or any framework's, its unit and why."""
    with library.reading(run) as reader:
        return found_list(reader, name, dialect)


@router.get("/runs/{run}/tape")
@as_json
def tape(request: Request, library: Lib, run: RunId) -> Tape:
    """The tape: reward, dropped share, evaluations, findings and clocks over the whole run."""
    with library.reading(run) as reader:
        findings = findings_of(request, run, reader)
        series = reader.remember("tape", lambda: tape_series(reader))
        notes = edited(series["notes"], edits_of(request, run))
        return {**series, "notes": notes, "findings": findings or [], "diagnosed": findings is not None}


def _watched(run: Run) -> WatchList:
    return watch_list(run, by_our_names(run.stored_names(), run.facts.get("framework")))


def remembered_row(id: str, run: Run) -> RunRow:
    return run.remember("row", lambda: run_row(id, run))


def remembered_names(run: Run) -> NameList:
    return run.remember("names", lambda: name_list(run))


def remembered_hidden(run: Run) -> dict[str, str]:
    return run.remember("hidden", lambda: hidden(run))


def wait_for_findings(request: Request, library: Library, id: str, seconds: float) -> None:
    """Wait for the first diagnosis, without holding the run: other requests for it are answered."""
    doctor: Doctor = request.app.state.doctor
    if library.entry(id) is not None:
        doctor.findings(id, seconds, at_once=True)


def findings_of(request: Request, id: str, run: Run) -> list[FindingShape] | None:
    """Findings as JSON; None while the first diagnosis is under way."""
    doctor: Doctor = request.app.state.doctor
    findings = doctor.findings(id)
    if findings is None:
        return None
    rules, hidden_rules = all_rules(), remembered_hidden(run)
    return [finding.shape(teaches(rules, finding.rule), hidden_rules) for finding in findings]


def teaches(rules: Mapping[str, Rule], name: str) -> str:
    """What a rule teaches; nothing for a project's own, which runs in a process of its own."""
    return rules[name].teaches if name in rules else ""


def _row_now(library: Library, id: str, run: Run) -> RunRow:
    """The row with what changes although no row is written: state and last sign of life."""
    row = remembered_row(id, run)
    state = run.state if row["state"] == "running" else row["state"]
    return {**row, "state": state, "heard_ns": library.heard(id) * 1e9}


def _counts(counts: FindingCounts, entry: Entry | None) -> dict[str, int] | None:
    return None if entry is None else counts.of(entry)
