"""A person's word that a finding is no problem here: kept as a note in the run, taken back by a later one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .rule import Finding

KIND = "hidden finding"


def row(rule: str, hidden: bool, why: str = "", step: int | None = None) -> dict[str, Any]:
    """The note that says it: the rule as text, the word and its reason as data."""
    return {"kind": KIND, "text": rule, "step": step, "data": {"hidden": hidden, "why": why}}


def hidden(run: Any) -> dict[str, str]:
    """Rules that a person has hidden for this run, with the reason given. The last word about a rule counts."""
    notes = run.notes()
    words = [(int(t or 0), str(text or ""), _data(data)) for t, text, kind, data in _rows(notes) if kind == KIND]
    said: dict[str, str] = {}
    for _, rule, data in sorted(words, key=lambda w: w[0]):
        if data.get("hidden", True):
            said[rule] = str(data.get("why") or "")
        else:
            said.pop(rule, None)
    return said


def open_findings(findings: Sequence[Finding], away: Mapping[str, str]) -> list[Finding]:
    return [f for f in findings if f.rule not in away]


def _rows(notes: Mapping[str, Any]) -> Any:
    return zip(notes["time_ns"], notes["text"], notes["kind"], notes["data"], strict=True)


def _data(value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
