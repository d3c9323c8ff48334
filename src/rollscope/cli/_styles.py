"""Colours and marks: one for each state of a run, one for each severity of a finding."""

from __future__ import annotations

STATE_STYLE = {"running": "green", "finished": "default", "crashed": "red", "killed": "red", "unreadable": "yellow"}
SEVERITY_MARK = {"bad": "●", "watch": "▲", "info": "–"}
SEVERITY_STYLE = {"bad": "red", "watch": "yellow", "info": "blue"}


def state_style(state: str) -> str:
    return STATE_STYLE.get(state, "default")
