"""Runs: the list, one of them, its names, and the tape that stands on every page of it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from fastapi import APIRouter, Request

from rollscope.diagnose import all_rules
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.server.deps import Lib, RunId
from rollscope.server.doctor import Doctor
from rollscope.server.library import Library
from rollscope.server.reply import as_json
from rollscope.diagnose.finding import FindingShape
from rollscope.server.shapes import EvalMark, NoteShape, RunDetail, RunList, RunRow, Tape
from rollscope.store.run import Run
from rollscope.strict_json import number as wire
from rollscope.strict_json import plain
from rollscope.views import metric_info as naming
from rollscope.views.dictionary import by_our_names
from rollscope.views.metric_info import NameList

from .series import clock_of

router = APIRouter(tags=["runs"])
SPARK = 24
TAPE = 480
OUTPUT = 12  # lines of a crashed run's output
CONFIG_VALUE = 200  # characters of a config value that travel with the list


@router.get("/runs")
@as_json
def index(request: Request, library: Lib) -> RunList:
    """Every run of the store, newest first."""
    found: list[Any] = []
    for id in library.ids():
        with library.reading(id) as run:
            base = kept_row(library, id, run)
            found.append({**base, **_now(request, library, id, run, base["state"])})
    slots = _slots(found)
    rows: list[Any] = [{**r, "slot": slots[r["id"]]} for r in sorted(found, key=lambda r: -float(r["started_ns"]))]
    return {"runs": rows, "folder": os.path.abspath(library.path)}


def kept_row(library: Library, id: str, run: Run) -> RunRow:
    return library.keep(run, id, "row", lambda: row(library, id, run))


def kept_names(library: Library, id: str, run: Run) -> NameList:
    return library.keep(run, id, "names", lambda: naming.listing(run))


def kept_hidden(library: Library, id: str, run: Run) -> dict[str, str]:
    return library.keep(run, id, "hidden", lambda: hidden(run))


def _slots(rows: list[Any]) -> dict[str, int]:
    """A run keeps its colour: its place among the runs of its project by when they began."""
    count: dict[str, int] = {}
    slots = {}
    for r in sorted(rows, key=lambda r: (r["started_ns"], r["id"])):
        slots[r["id"]] = count.get(r["project"], 0)
        count[r["project"]] = slots[r["id"]] + 1
    return slots


def _now(request: Request, library: Library, id: str, run: Run, state: str) -> dict[str, Any]:
    """What changes without a new row: silence (of a run that has not ended), and a diagnosis that has been made since."""
    doctor: Doctor = request.app.state.doctor
    known = doctor.known(id)
    open_ = None if known is None else open_findings(known, kept_hidden(library, id, run))
    counts = None if open_ is None else {s: sum(f.severity == s for f in open_) for s in ("bad", "watch", "info")}
    return {
        "state": run.state if state == "running" else state,
        "heard_ns": library.heard(id) * 1e9,
        "findings": counts,
    }


def row(library: Library, id: str, run: Run) -> RunRow:
    record = dict(run.record())
    ours = by_our_names(run.stored_names(), record.get("framework"))
    head = naming.headline(run, ours)
    score = _last_eval(run, ours)
    times = run.steps()["time_ns"]
    return {
        "id": id,
        **{
            key: str(record.get(key) or "")
            for key in ("name", "project", "group", "algorithm", "framework", "state", "reason")
        },  # type: ignore[typeddict-item]
        "tags": [str(tag) for tag in record.get("tags") or []],
        "started_ns": float(record.get("started_ns") or 0),
        "ended_ns": float(record.get("ended_ns") or 0),
        "heard_ns": 0.0,
        "step": record.get("step"),
        "steps": len(times),
        "steps_planned": record.get("steps_planned"),
        "step_seconds": _step_seconds(times),
        "slot": 0,
        "spark": _spark(run, head),
        "headline": head,
        "headline_value": wire(run.series(head)["value"][-1]) if head and len(run.series(head)["value"]) else None,
        "eval": score,
        "eval_value": wire(run.series(score)["value"][-1]) if score else None,
        "findings": None,
        "config": _short(record.get("config") or {}),
        "damage": len(run.damage),
    }


def _short(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration flat, for the search box: `config.optim.lr=1e-6`."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{k}": v for k, v in _short(value).items()}
        elif isinstance(value, str | int | float | bool) or value is None:
            flat[key] = (
                value[:CONFIG_VALUE] if isinstance(value, str) else wire(value) if isinstance(value, float) else value
            )
    return flat


def _step_seconds(times: Any) -> float | None:
    """Usual time between two steps, from the newest ones."""
    recent = np.diff(times[-50:]) / 1e9
    return float(np.median(recent)) if len(recent) else None


def _spark(run: Run, name: str) -> list[float | None]:
    if not name:
        return []
    mean = run.series(name, points=SPARK)["mean"]
    return [float(v) if np.isfinite(v) else None for v in mean]


def _last_eval(run: Run, ours: Any) -> str:
    """The logged name of the evaluation that stands for the run: a mean@k of the first set."""
    found = [
        m
        for name, m in ours.items()
        if m.found and name.startswith("eval/") and "/mean@" in name and m.found.stat in ("", "mean")
    ]
    return min((m.logged for m in found), key=lambda n: (len(n), n), default="")


@router.get("/runs/{run}")
@as_json
def show(request: Request, library: Lib, run: RunId) -> RunDetail:
    """One run: what it was told, where it ran, what could not be read."""
    slot = _slot(
        library, run
    )  # before this run is held: it looks at the others one by one, and two that hold each other's would wait for ever
    with library.reading(run) as found:
        kept = kept_row(library, run, found)
        base: Any = {**kept, **_now(request, library, run, found, kept["state"])}
        facts = found.facts
        crashed = base["state"] in ("crashed", "killed")
        return {
            "run": base | {"slot": slot},
            "config": plain(found.config, surrogates=True),
            "environment": plain(facts.get("environment") or {}, surrogates=True),
            "declared": plain(found.declared, surrogates=True),
            "damage": [{"file": os.path.basename(d.path), "byte": d.offset, "says": d.says} for d in found.damage],
            "notes": notes_of(found),
            "output": _output(found) if crashed else [],
            "checkpoint": str(facts.get("checkpoint") or ""),
            "last_ok_step": base["step"],
        }


def _slot(library: Library, id: str) -> int:
    rows = []
    for other in library.ids():
        with library.reading(other) as run:
            rows.append(
                {
                    "id": other,
                    "project": str(run.facts.get("project") or ""),
                    "started_ns": float(run.facts.get("started_ns") or 0),
                }
            )
    return _slots(rows).get(id, 0)


def notes_of(run: Run) -> list[NoteShape]:
    """All notes, by time: each writer has its own file, and what lies in which is nobody's business."""
    notes = run.notes()
    rows = zip(notes["step"], notes["time_ns"], notes["text"], notes["kind"], strict=True)
    found: list[NoteShape] = [
        {"step": _whole(s), "time_ns": float(t or 0), "text": str(x or ""), "kind": str(k or "note")}
        for s, t, x, k in rows
    ]
    return sorted(found, key=lambda n: n["time_ns"])


def _whole(value: Any) -> int | None:
    return None if value is None or value != value else int(value)


def _output(run: Run) -> list[str]:
    """The last lines it printed, where somebody kept them: `rollscope run` does, and any process may, as notes of kind `output`."""
    lines = [line for n in notes_of(run) if n["kind"] == "output" for line in n["text"].splitlines()]
    return lines[-OUTPUT:]


@router.get("/runs/{run}/names")
@as_json
def names(library: Lib, run: RunId) -> NameList:
    """Every metric of a run and what a chart must know about it."""
    with library.reading(run) as found:
        return kept_names(library, run, found)


@router.get("/runs/{run}/tape")
@as_json
def tape(request: Request, library: Lib, run: RunId) -> Tape:
    """The tape: reward, dropped share, evaluations, findings and clocks over the whole run."""
    with library.reading(run) as found:
        shapes = findings_of(request, run, found)
        drawn = library.keep(found, run, "tape", lambda: _drawn(found))
        return {**drawn, "findings": shapes or [], "diagnosed": shapes is not None}  # type: ignore[typeddict-item]


def findings_of(request: Request, id: str, run: Run, wait: float = 0.0) -> list[FindingShape] | None:
    """Findings in the shape of the wire; None while the first diagnosis is being made."""
    doctor: Doctor = request.app.state.doctor
    found = doctor.findings(id, wait)
    away = kept_hidden(request.app.state.library, id, run)
    return None if found is None else [f.shape(all_rules()[f.rule].teaches, away) for f in found]


def _drawn(run: Run) -> dict[str, Any]:
    first, last = run.step_range
    ours = by_our_names(run.stored_names(), run.facts.get("framework"))
    head = naming.headline(run, ours)
    dropped = next((ours[n].logged for n in ("discarded/share", "group/zero_spread") if n in ours), "")
    width = max(1, int(np.ceil((last - first + 1) / TAPE)))
    count = int(np.ceil((last - first + 1) / width))
    wanted = sorted({n for n in (head, dropped) if n})
    mean = dict(
        zip(
            wanted,
            run.buckets(wanted, first - 0.5, first - 0.5 + width * count, count)["mean"] if wanted else [],
            strict=True,
        )
    )
    return {
        "first": first,
        "last": last,
        "planned": run.facts.get("steps_planned"),
        "headline": head,
        "x": (first + (np.arange(count) + 0.5) * width - 0.5).tolist(),
        "reward": _nullable(mean[head]) if head else [],
        "dropped": _nullable(mean[dropped]) if dropped else [],
        "evals": _evals(run, ours),
        "notes": [n for n in notes_of(run) if n["kind"] == "note"],
        "clocks": _clocks(run),
        "started": float(run.facts.get("started_ns") or 0) / 1e9,
    }


def _nullable(column: Any) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in column]


def _evals(run: Run, ours: Any) -> list[EvalMark]:
    name = _last_eval(run, ours)
    return [{"step": int(s), "set": name} for s in run.series(name)["step"][-400:]] if name else []


def _clocks(run: Run) -> dict[str, list[float | None]]:
    """Steps and their readings on every clock, thinned; what lies between is interpolated."""
    steps = run.steps()["step"]
    if not len(steps):
        return {"step": []}
    pick = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), TAPE)).astype(int))
    readings = {x: clock_of(run, x) for x in ("time", "relative", "tokens", "samples")}
    return {
        "step": [float(s) for s in steps[pick]],
        **{x: _nullable(v[pick]) for x, v in readings.items() if np.isfinite(v).any()},
    }
