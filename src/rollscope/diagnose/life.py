"""The life of findings: each is opened, gets worse, recovers, and is written into the run.

A finding is opened at the second look that sees it, and has recovered once several looks did not:
so it does not flicker. What was written before is read back first, so a second doctor goes on where
another one ended, and nothing is written twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rollscope.errors import CannotWrite
from rollscope.store import notes
from rollscope.store.log.only_one import OnlyOne
from rollscope.store.run import Run

from .engine import Diagnosis
from .finding import RANK, Event, Finding, Life, Severity

SEEN = 2  # looks before a finding is opened
GONE = 3  # looks without it before it has recovered
WRITTEN = ("time_ns", "rule", "severity", "step", "until", "claim", "evidence")


@dataclass(slots=True)
class _Known:
    """What is known of one rule's finding: its last event, and how often it was seen or missed."""

    finding: Finding
    written: Life | None = None
    severity: Severity = "info"
    seen: int = 0
    missed: int = 0


class Lives:
    """Give it the findings after every look at a run; it writes what changed into the run.

    Several doctors may follow one run, in one process or in several: one of them writes.
    """

    def __init__(self, folder: str) -> None:
        self._known: dict[str, _Known] = {}
        self._writer = OnlyOne(folder, os.path.join(folder, "notices", "findings.lock"))

    def look(self, run: Run, findings: Sequence[Finding], ended: bool = False) -> list[tuple[Finding, Life]]:
        """Write what opened, got worse or recovered since the last look, and return it."""
        run.refresh()
        held = {f.rule: f for f in reversed(findings) if f.severity != "info" and f.until is None}
        if not (held or self._known or events_of(run)):
            return []  # nothing to write: the run's folder stays as it is
        if not self._may_write():
            self._known.clear()  # if this doctor writes later, it reads first what is written
            return []
        self._read(run)  # another doctor may have written since
        changed = [*self._seen(held, ended), *self._missed(held)]
        rows = [_row(finding, life, run.last_step or 0) for finding, life in changed]
        if rows:
            with contextlib.suppress(CannotWrite):  # a run that cannot be written to can still be read
                notes.write_rows(run.path, "findings", rows)
                run.refresh()
        return changed

    def close(self) -> None:
        """Let another doctor write."""
        self._writer.close()

    def _may_write(self) -> bool:
        with contextlib.suppress(OSError):
            return self._writer.take()
        return False

    def _seen(self, held: Mapping[str, Finding], ended: bool) -> list[tuple[Finding, Life]]:
        changed: list[tuple[Finding, Life]] = []
        for rule, finding in held.items():
            known = self._known.setdefault(rule, _Known(finding))
            known.finding, known.seen, known.missed = finding, known.seen + 1, 0
            if known.written in (None, "recovered") and (known.seen >= SEEN or ended):
                changed.append((finding, "opened"))
            elif known.written in ("opened", "worse") and RANK[finding.severity] < RANK[known.severity]:
                changed.append((finding, "worse"))
            else:
                continue
            known.written, known.severity = changed[-1][1], finding.severity
        return changed

    def _missed(self, held: Mapping[str, Finding]) -> list[tuple[Finding, Life]]:
        changed: list[tuple[Finding, Life]] = []
        for rule, known in self._known.items():
            if rule in held:
                continue
            known.seen, known.missed = 0, known.missed + 1
            if known.written in ("opened", "worse") and known.missed >= GONE:
                known.written = "recovered"
                changed.append((known.finding, "recovered"))
        return changed

    def _read(self, run: Run) -> None:
        """Take over what an earlier doctor wrote."""
        for rule, events in events_of(run).items():
            last = events[-1]
            finding = Finding(step=last.step, claim=rule, evidence="", severity=last.severity, rule=rule)
            known = self._known.setdefault(rule, _Known(finding))
            known.written, known.severity = last.life, last.severity


def events_of(run: Run) -> dict[str, list[Event]]:
    """The events that were written, by rule, in their order."""
    events: dict[str, list[Event]] = {}
    for row in _rows(run):
        data = _parsed(row["evidence"])
        life: Life = data.get("life") or "opened"
        at = data.get("at")
        step = at if isinstance(at, int) else int(row["step"])
        event = Event(life, step, row["severity"], int(row["time_ns"]))
        events.setdefault(str(row["rule"]), []).append(event)
    return events


def _rows(run: Run) -> list[dict[str, Any]]:
    """What was written, in the order of time."""
    if not run.has("findings"):
        return []
    columns = run.findings()
    rows = [dict(zip(WRITTEN, values, strict=True)) for values in zip(*(columns[n] for n in WRITTEN), strict=True)]
    return sorted(filter(_is_whole, rows), key=lambda row: int(row["time_ns"]))


def _is_whole(row: Mapping[str, Any]) -> bool:
    """Was it written by a doctor? Another writer may have left any of these out."""
    known = isinstance(row["rule"], str) and row["severity"] in RANK
    return known and all(row[name] is not None and np.isfinite(row[name]) for name in ("time_ns", "step"))


def alive(told: Diagnosis, run: Run) -> Diagnosis:
    """A diagnosis whose findings have the events that were written, and what has recovered."""
    events = run.remember("lives", lambda: events_of(run))
    findings = [replace(finding, life=tuple(events.get(finding.rule, ()))) for finding in told.findings]
    found = {finding.rule for finding in findings}
    past = run.remember("recovered", lambda: _past(run))
    return replace(told, findings=findings, recovered=[finding for finding in past if finding.rule not in found])


def _past(run: Run) -> list[Finding]:
    """The last finding of each rule whose last event is that it recovered."""
    events = events_of(run)
    rows = {str(row["rule"]): row for row in _rows(run)}
    over = [row for rule, row in rows.items() if events[rule][-1].life == "recovered"]
    past = [
        Finding(
            step=int(row["step"]),
            until=int(row["until"]) if row["until"] is not None and row["until"] == row["until"] else None,
            claim=str(row["claim"]),
            evidence=str(_parsed(row["evidence"]).get("text", "")),
            severity=row["severity"],
            rule=str(row["rule"]),
            life=tuple(events[str(row["rule"])]),
        )
        for row in over
    ]
    return sorted(past, key=lambda finding: finding.step)


def _row(finding: Finding, life: Life, step: int) -> dict[str, Any]:
    evidence = {"life": life, "at": step, "text": finding.evidence, "cause": finding.cause}
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "step": finding.step,
        "until": step if life == "recovered" else finding.until,
        "claim": finding.claim,
        "evidence": {**evidence, "metrics": list(finding.metrics)},
        "time_ns": time.time_ns(),
    }


def _parsed(text: Any) -> dict[str, Any]:
    try:
        data = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
