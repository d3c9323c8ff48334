"""Hidden findings: a person says that a rule's findings are not a problem in this run.

The statement is stored as a note in the run. A later note takes it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollscope.store.run import Run

from .finding import Finding

KIND = "hidden finding"


def row(rule: str, hidden: bool, why: str = "", step: int | None = None) -> dict[str, Any]:
    """The note to store: the rule is its text, the statement and its reason are its data."""
    return {"kind": KIND, "text": rule, "step": step, "data": {"hidden": hidden, "why": why}}


def hidden(run: Run) -> dict[str, str]:
    """The rules a person has hidden in this run, each with the reason. The newest note wins."""
    reasons: dict[str, str] = {}
    for _, rule, data in sorted(_statements(run), key=lambda statement: statement[0]):
        if data.get("hidden", True):
            reasons[rule] = str(data.get("why") or "")
        else:
            reasons.pop(rule, None)
    return reasons


def open_findings(findings: Sequence[Finding], hidden: Mapping[str, str]) -> list[Finding]:
    """The findings whose rules are not hidden."""
    return [finding for finding in findings if finding.rule not in hidden]


def _statements(run: Run) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Time, rule and data of each note that hides or shows a rule."""
    notes = run.notes()
    for time_ns, text, kind, data in zip(*(notes[name] for name in ("time_ns", "text", "kind", "data")), strict=True):
        if kind == KIND:
            yield int(time_ns or 0), str(text or ""), _data(data)


def _data(value: Any) -> dict[str, Any]:
    try:
        data = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
