"""Runs: the list, one of them, its names, and the tape that is on every page of a run."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import APIRouter, Query, Request

from rollscope.diagnose import all_rules
from rollscope.diagnose.finding import FindingShape
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.errors import RollscopeError
from rollscope.server.deps import Lib, RunId
from rollscope.server.doctor import Doctor
from rollscope.server.library import Library
from rollscope.server.reply import as_json
from rollscope.server.run_rows import RunRows, page
from rollscope.server.shapes import RunDetail, RunList, Tape
from rollscope.store.run import Run
from rollscope.strict_json import plain
from rollscope.views.metric_info import FoundList, NameList, found_list, name_list
from rollscope.views.summary.run_notes import output_lines, run_notes
from rollscope.views.summary.run_row import RunRow, run_row
from rollscope.views.summary.tape import tape as tape_series

router = APIRouter(tags=["runs"])
ENDED_BADLY = ("crashed", "killed")
AnyName = Annotated[str, Query(max_length=400, description="name, ours or any framework's")]
Dialect = Annotated[str | None, Query(max_length=80, description="whose name it is, such as trl:grpo")]


@router.get("/runs")
@as_json
def index(request: Request, library: Lib) -> RunList:
    """Every run of the store, newest first.

    While a store of thousands of runs is read for the first time, `pending` counts those to come;
    an event tells when to ask again.
    """
    rows: RunRows = request.app.state.rows
    known, pending = rows.rows()
    answer = page(known, pending, os.path.abspath(library.path), lambda id: _counts(request, library, id))
    return answer  # type: ignore[return-value]  # the same shape, encoded already


@router.get("/runs/{run}")
@as_json
def show(request: Request, library: Lib, run: RunId) -> RunDetail:
    """One run: its configuration, where it ran, its notes, and any damage to its files."""
    # Look at the other runs before this one is locked: two requests that lock each other's runs
    # would wait for ever.
    rows: RunRows = request.app.state.rows
    slot, findings = rows.slot(run), _counts(request, library, run)
    with library.reading(run) as reader:
        row: RunRow = {**_row_now(library, run, reader), "slot": slot, "findings": findings}
        return {
            "run": row,
            "config": plain(reader.config, surrogates=True),
            "environment": plain(reader.facts.get("environment") or {}, surrogates=True),
            "declared": plain(reader.declared, surrogates=True),
            "damage": [{"file": os.path.basename(d.path), "byte": d.offset, "says": d.says} for d in reader.damage],
            "notes": run_notes(reader),
            "output": output_lines(reader) if row["state"] in ENDED_BADLY else [],
            "checkpoint": str(reader.facts.get("checkpoint") or ""),
            "last_ok_step": row["step"],
        }


@router.get("/runs/{run}/names")
@as_json
def names(library: Lib, run: RunId) -> NameList:
    """Every metric of a run and what a chart needs to know about it."""
    with library.reading(run) as reader:
        return remembered_names(reader)


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
        return {**series, "findings": findings or [], "diagnosed": findings is not None}


def remembered_row(id: str, run: Run) -> RunRow:
    return run.remember("row", lambda: run_row(id, run))


def remembered_names(run: Run) -> NameList:
    return run.remember("names", lambda: name_list(run))


def remembered_hidden(run: Run) -> dict[str, str]:
    return run.remember("hidden", lambda: hidden(run))


def findings_of(request: Request, id: str, run: Run, wait: float = 0.0) -> list[FindingShape] | None:
    """Findings as JSON; None while the first diagnosis is under way."""
    doctor: Doctor = request.app.state.doctor
    findings = doctor.findings(id, wait)
    if findings is None:
        return None
    rules, hidden_rules = all_rules(), remembered_hidden(run)
    return [finding.shape(rules[finding.rule].teaches, hidden_rules) for finding in findings]


def _row_now(library: Library, id: str, run: Run) -> RunRow:
    """The row with what changes although no row is written: state and last sign of life."""
    row = remembered_row(id, run)
    state = run.state if row["state"] == "running" else row["state"]
    return {**row, "state": state, "heard_ns": library.heard(id) * 1e9}


def _counts(request: Request, library: Library, id: str) -> dict[str, int] | None:
    """Open findings by severity; None before the first diagnosis."""
    doctor: Doctor = request.app.state.doctor
    known = doctor.known(id)
    if known is None:
        return None
    try:
        with library.reading(id) as run:
            findings = open_findings(known, remembered_hidden(run))
    except RollscopeError:  # the run is gone, or cannot be read any more
        return None
    return {severity: sum(f.severity == severity for f in findings) for severity in ("bad", "watch", "info")}
