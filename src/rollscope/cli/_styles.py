"""Colours and marks: one for each state of a run, each severity of a finding, each status."""

from __future__ import annotations

STATE_STYLE = {"running": "green", "finished": "default", "crashed": "red", "killed": "red", "unreadable": "yellow"}
SEVERITY_MARK = {"bad": "●", "watch": "▲", "info": "–"}
SEVERITY_STYLE = {"bad": "red", "watch": "yellow", "info": "blue"}
STATUS_MARK = {"bad": "●", "watch": "▲", "good": "✓", "none": "–"}
STATUS_STYLE = {"bad": "red", "watch": "yellow", "good": "green", "none": "dim"}


def state_style(state: str) -> str:
    return STATE_STYLE.get(state, "default")
