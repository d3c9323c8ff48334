"""Recorded failures, logged again: small real runs with the series of trained ones.

`data/failures.json` holds, for a healthy training and for every failure of the trainer, how the
run ended and the series that a person looks at first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import rollscope as rs
from rollscope.store.run import Run

FAILURES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "failures.json").read_text())


class Ended(Exception):
    """Ends a replayed run as the recorded one ended."""


def replay(folder: Path, name: str) -> Run:
    """Log a recorded run again, with its end and its reason."""
    facts = FAILURES[name]
    rows: dict[int, dict[str, float]] = {}
    for metric, series in facts["series"].items():
        for step, value in zip(series["step"], series["value"], strict=True):
            rows.setdefault(step, {})[metric] = float(value)
    return record(folder, rows, facts["reason"], algorithm=facts["algorithm"], declared=facts["declared"])


def record(
    folder: Path,
    rows: dict[int, dict[str, float]],
    reason: str = "",
    declared: dict[str, Any] | None = None,
    **about: Any,
) -> Run:
    """Record a run of these rows; with a reason it crashes."""
    run = rs.init(project="p", name="run", dir=str(folder), host=False, **about)
    try:
        with run:
            for env, ranges in ((declared or {}).get("environments") or {None: declared or {}}).items():
                run.declare(env, **ranges)
            for step, values in sorted(rows.items()):
                run.log(values, step=step)
            if reason:
                raise Ended(reason)
    except Ended:
        pass
    return rs.open(folder).run(run.id)
