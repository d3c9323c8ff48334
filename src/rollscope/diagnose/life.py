"""The life of findings: each is opened, gets worse, recovers, and is written into the run.

A finding is opened at the second look that sees it, and has recovered once several looks did not:
so it does not flicker. What was written before is read back first, so a second doctor goes on where
another one ended, and nothing is written twice.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rollscope.errors import CannotWrite
from rollscope.store import notes
from rollscope.store.run import Run

from .finding import RANK, Event, Finding, Life, Severity

SEEN = 2  # looks before a finding is opened
GONE = 3  # looks without it before it has recovered


@dataclass(slots=True)
class _Known:
    """What is known of one rule's finding: its last event, and how often it was seen or missed."""

    finding: Finding
    written: Life | None = None
    severity: Severity = "info"
    seen: int = 0
    missed: int = 0


class Lives:
    """Give it the findings after every look; it writes what changed into the run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[str, _Known] = {}
        self._read()

    def look(self, findings: Sequence[Finding], step: int, ended: bool = False) -> list[tuple[Finding, Life]]:
        """Write what opened, got worse or recovered since the last look, and return it."""
        self._read()  # another doctor may have written since
        held = {f.rule: f for f in reversed(findings) if f.severity != "info" and f.until is None}
        changed = [*self._seen(held, ended), *self._missed(held)]
        rows = [_row(finding, life, step) for finding, life in changed]
        if rows:
            with contextlib.suppress(CannotWrite):  # a run that cannot be written to can still be read
                notes.write_rows(self._run.path, "findings", rows)
                self._run.refresh()
        return changed

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

    def _read(self) -> None:
        """Take over what an earlier doctor wrote."""
        for rule, events in events_of(self._run).items():
            last = events[-1]
            finding = Finding(step=last.step, claim=rule, evidence="", severity=last.severity, rule=rule)
            known = self._known.setdefault(rule, _Known(finding))
            known.written, known.severity = last.life, last.severity


def events_of(run: Run) -> dict[str, list[Event]]:
    """The events that were written, by rule, in their order."""
    if not run.has("findings"):
        return {}
    columns = run.findings()
    events: dict[str, list[Event]] = {}
    names = ("time_ns", "rule", "severity", "step", "evidence")
    for time_ns, rule, severity, step, evidence in sorted(zip(*(columns[n] for n in names), strict=True), key=_time):
        data = evidence if isinstance(evidence, Mapping) else _parsed(evidence)
        life: Life = data.get("life") or "opened"
        events.setdefault(str(rule), []).append(Event(life, int(step), severity, int(time_ns or 0)))
    return events


def with_life(findings: Sequence[Finding], run: Run) -> list[Finding]:
    """The findings, each with the events that were written of it."""
    events = events_of(run)
    return [replace(finding, life=tuple(events.get(finding.rule, ()))) for finding in findings]


def _row(finding: Finding, life: Life, step: int) -> dict[str, Any]:
    evidence = {"life": life, "text": finding.evidence, "cause": finding.cause, "metrics": list(finding.metrics)}
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "step": finding.step,
        "until": step if life == "recovered" else finding.until,
        "claim": finding.claim,
        "evidence": evidence,
        "time_ns": time.time_ns(),
    }


def _time(row: tuple[Any, ...]) -> int:
    return int(row[0] or 0)


def _parsed(text: Any) -> dict[str, Any]:
    try:
        data = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
