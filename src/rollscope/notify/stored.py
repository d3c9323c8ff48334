"""What people were told about a run: the records of all its targets, read from its folder."""

from __future__ import annotations

import contextlib
import os

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from .ledger import FOLDER, Entry, entries

MOST_RECORDS = 64  # targets of one run that are read


class ToldShape(TypedDict):
    """What one target was told about one finding, and whether it got it."""

    rule: str
    step: int
    event: str
    to: str
    stage: str
    why: str
    time_ns: float


def told(run: str) -> list[ToldShape]:
    """The last stage of every notice, by time. A record that cannot be read is passed over."""
    last: dict[tuple[str, str], Entry] = {}
    for path in _records(run):
        with contextlib.suppress(OSError, ValueError):
            last |= {(path, entry.notice.id): entry for entry in entries(path)}
    kept = [entry for entry in last.values() if entry.stage != "passed"]
    return [_shape(entry) for entry in sorted(kept, key=lambda entry: entry.time_ns)]


def _records(run: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(os.path.join(run, FOLDER)) if name.endswith(".jsonl"))
    except OSError:
        return []
    return [os.path.join(run, FOLDER, name) for name in names[:MOST_RECORDS]]


def _shape(entry: Entry) -> ToldShape:
    notice = entry.notice
    return {
        "rule": notice.rule,
        "step": notice.step,
        "event": notice.event,
        "to": entry.to,
        "stage": entry.stage,
        "why": entry.why,
        "time_ns": float(entry.time_ns),
    }
