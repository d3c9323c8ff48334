"""A run as one row of the Runs page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope import strict_json
from rollscope.store.run import Run
from rollscope.strict_json import Number
from rollscope.views import nullable
from rollscope.views.configuration import configuration
from rollscope.views.dictionary import stored_meanings

from .config_facts import flat_config
from .headline import evaluation, headline
from .trained_steps import trained_steps

SPARK_POINTS = 24
RECENT_STEPS = 50  # whose median is the usual time of a step
TEXTS = ("name", "project", "group", "algorithm", "framework", "state", "reason")


class RunRow(TypedDict):
    """One line of the Runs page."""

    id: str
    name: str  # as people call it now
    recorded_name: str
    note: str
    archived: bool
    project: str
    group: str
    tags: list[str]
    algorithm: str
    framework: str
    state: str
    reason: str
    started_ns: float
    ended_ns: float
    heard_ns: float
    step: int | None
    steps: int
    steps_planned: int | None
    step_seconds: float | None
    slot: int
    spark: list[float | None]
    headline: str
    headline_value: Number
    eval: str
    eval_value: Number
    findings: dict[str, int] | None
    config: dict[str, Any]
    configuration: str  # equal for runs that differ in nothing but their seed; empty: unknown
    damage: int


def run_row(id: str, run: Run) -> RunRow:
    """The row as far as the run's files tell. The server adds what changes without them."""
    record = run.record()
    meanings = stored_meanings(run)
    reward, score = headline(run, meanings), evaluation(meanings)
    return {
        "id": id,
        **{key: str(record.get(key) or "") for key in TEXTS},  # type: ignore[typeddict-item]
        "recorded_name": str(record.get("name") or ""),
        "note": "",
        "archived": False,
        "tags": [str(tag) for tag in record.get("tags") or []],
        "started_ns": float(record.get("started_ns") or 0),
        "ended_ns": float(record.get("ended_ns") or 0),
        "heard_ns": 0.0,
        "step": record.get("step"),
        "steps": trained_steps(run, reward, score),
        "steps_planned": record.get("steps_planned"),
        "step_seconds": _step_seconds(run.steps()["time_ns"]),
        "slot": 0,
        "spark": nullable.finite(run.series(reward, points=SPARK_POINTS)["mean"]) if reward else [],
        "headline": reward,
        "headline_value": _last_value(run, reward),
        "eval": score,
        "eval_value": _last_value(run, score),
        "findings": None,
        "config": flat_config(record.get("config") or {}),
        "configuration": configuration(record),
        "damage": len(run.damage),
    }


def unreadable_row(id: str, says: str) -> RunRow:
    """The row of a run that cannot be read: its id, and the sentence that says why."""
    texts = {**dict.fromkeys(TEXTS, ""), "state": "unreadable", "reason": says}
    return {
        "id": id,
        **texts,  # type: ignore[typeddict-item]
        "recorded_name": "",
        "note": "",
        "archived": False,
        "tags": [],
        "started_ns": 0.0,
        "ended_ns": 0.0,
        "heard_ns": 0.0,
        "step": None,
        "steps": 0,
        "steps_planned": None,
        "step_seconds": None,
        "slot": 0,
        "spark": [],
        "headline": "",
        "headline_value": None,
        "eval": "",
        "eval_value": None,
        "findings": None,
        "config": {},
        "configuration": "",
        "damage": 0,
    }


def is_row(row: Any, id: str) -> bool:
    """True if a value that was stored is a row of this run: it may come from a damaged file."""
    if not isinstance(row, dict) or row.keys() != RunRow.__annotations__.keys() or row["id"] != id:
        return False
    texts, numbers = ("project", "state"), ("started_ns", "heard_ns")
    if not isinstance(row["tags"], list) or not isinstance(row["recorded_name"], str):
        return False
    return all(isinstance(row[name], str) for name in texts) and all(isinstance(row[name], float) for name in numbers)


def _last_value(run: Run, name: str) -> Number:
    if not name:
        return None
    values = run.series(name)["value"]
    return strict_json.number(values[-1]) if len(values) else None


def _step_seconds(times: Any) -> float | None:
    """Median time between two of the newest steps."""
    seconds = np.diff(times[-RECENT_STEPS:]) / 1e9
    return float(np.median(seconds)) if len(seconds) else None


def colour_slots(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Run id -> colour slot: the run's position by start in its project, so that a run keeps it."""
    counts: dict[str, int] = {}
    slots = {}
    for row in sorted(rows, key=lambda row: (row["started_ns"], row["id"])):
        slots[row["id"]] = counts.get(row["project"], 0)
        counts[row["project"]] = slots[row["id"]] + 1
    return slots
