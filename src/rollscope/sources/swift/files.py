"""ms-swift's output folder: `completions.jsonl` (`--log_completions true`) and `logging.jsonl`.

A line of completions holds a list for each column; through Ray a line is one sample. ms-swift
writes its latest rollouts whenever it logs, so a line may begin with rollouts of the line before.
`logging.jsonl` has the names of TRL and transformers, and "7/100" for the step; its last line tells
of the whole training.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Since
from rollscope.sources.dumps import columns
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing
from rollscope.sources.files.lines import before
from rollscope.sources.intake.gather import digest, number, whole
from rollscope.sources.intake.tables import text
from rollscope.sources.jsonl import first, numbers

AXIS = "global_step/max_steps"
LATER = {"step": None, "entropy": None}  # what ms-swift may write otherwise when it repeats a rollout
OWN = ("step", "gen_step", "prompt", "completion", "advantages", "reward", "entropy")


def recognises(path: Path) -> bool:
    if not path.is_file() or path.name not in ("completions.jsonl", "logging.jsonl"):
        return False
    row = first(path)
    if row is None or path.name == "logging.jsonl":
        return row is not None and AXIS in row
    return "gen_step" in row or isinstance(row.get("completion"), list)


def rows(path: Path, since: Since) -> Iterator[Item]:
    if path.name == "logging.jsonl":
        place = Place(framework="swift", folder=path.parent, name="", kind="numbers")
        yield from numbers(path, since, place.run(path), _stepped)
        return
    place = Place(framework="swift", folder=path.parent, name="completions")
    cursor = since.get(place.run(path).id)
    yield from growing(path, since, place, _Lines(path, cursor["at"] if isinstance(cursor, dict) else 0).samples)


def _stepped(line: dict[str, Any]) -> dict[str, Any]:
    """The line with its step as a number."""
    if AXIS not in line:
        return {name: value for name, value in line.items() if number(value) is not None}
    axis = str(line.get(AXIS, "")).partition("/")[0]
    kept = {name: value for name, value in line.items() if name not in (AXIS, "percentage", "elapsed_time")}
    kept.pop("remaining_time", None)
    return {**kept, "step": int(axis)} if axis.isdecimal() and len(axis) < 19 else kept


class _Lines:
    """Takes the lines of a file from a place on, without the rollouts that a line repeats."""

    def __init__(self, path: Path, at: int) -> None:
        self._before: list[Row] = []  # the rollouts of the line before
        try:
            self._before = _rollouts(json.loads(before(path, at) or b"{}"))
        except (ValueError, RecursionError, AttributeError):
            return  # it is no line of rollouts

    def samples(self, row: Row, spot: Spot) -> Tables:
        if not isinstance(row.get("completion"), list):
            return {"samples": [_sample(row, spot.id, spot)]}
        ones = _rollouts(row)
        told, self._before = _repeated(self._before, ones), ones
        found = (_sample(one, f"{spot.id}/{i}", spot) for i, one in enumerate(ones))
        return {"samples": list(islice(found, told, None))}


def _rollouts(row: Row) -> list[Row]:
    """The rollouts of a line, which has a list for each column."""
    several = row.get("completion")
    length = len(several) if isinstance(several, list) else 0
    listed = {name: column for name, column in row.items() if isinstance(column, list) and len(column) == length}
    return [{name: column[i] for name, column in listed.items()} for i in range(length)]


def _repeated(old: list[Row], new: list[Row]) -> int:
    """With how many of the last old rollouts the new ones begin."""
    known, ones = ([{**one, **LATER} for one in rollouts] for rollouts in (old, new))
    return next((many for many in range(min(len(known), len(ones)), 0, -1) if known[-many:] == ones[:many]), 0)


def _sample(one: Mapping[str, Any], id: str, spot: Spot) -> dict[str, Any]:
    """A sample. A number in a column that is not ms-swift's own is the reward of a function."""
    step = next((found for name in ("step", "gen_step") if (found := _whole(one.get(name))) is not None), 0)
    prompt = text(one.get("prompt")) or ""
    task, rest = digest(prompt), columns.rest(one, OWN)
    group = f"{step}/{task}"
    parts = rest["sample_metrics"] or {}
    reward = number(one.get("reward"))
    sample = {
        "id": id,
        "step": step,
        "time_ns": spot.time_ns,
        "split": spot.place.split,
        "task": task,
        "group": group,
        "repeat": spot.place.repeats.number(group),
        "prompt": prompt,
        "completion": text(one.get("completion")),
        "reward": next(iter(parts.values())) if reward is None and len(parts) == 1 else reward,
        "rewards": parts or None,
        "advantage": number(one.get("advantages")),
        "sample_metrics": columns.known({"entropy": number(one.get("entropy"))}) or None,
        "extra": rest["extra"],
    }
    return columns.known(sample)


def _whole(value: Any) -> int | None:
    """ms-swift writes steps as texts."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 19 else whole(value)
