"""Datasets of rollouts: Parquet, Arrow (Hugging Face `save_to_disk`) or JSONL.

Each row has a prompt and a completion, or messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing, table
from rollscope.sources.files import columnar
from rollscope.sources.intake.gather import digest, whole
from rollscope.sources.intake.tables import COMPLETION, PROMPT, sample, text

from . import NO_STEP, Item, Since
from .jsonl import first

NAMES = ("rollouts", "hugging face dataset")
ORDER = 5  # after the frameworks, before plain JSONL


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".jsonl":
        row = first(path)
        return row is not None and _are_rollouts({k for k, v in row.items() if isinstance(v, str | list)})
    return path.suffix in (".parquet", ".arrow") and _are_rollouts(columnar.columns(path))


def _are_rollouts(names: set[str]) -> bool:
    low = {name.lower() for name in names}
    return "messages" in low or bool(low & set(PROMPT) and low & set(COMPLETION))


def rows(path: Path, since: Since) -> Iterator[Item]:
    """All files of a folder are one run: a dataset is often split into several files."""
    read = growing if path.suffix == ".jsonl" else table
    names = (first(path) or {}).keys() if path.suffix == ".jsonl" else columnar.columns(path)
    place = Place(
        framework="rollouts",
        folder=path.parent,
        name=path.stem,
        kind=NAMES[0],
        facts={"framework": None},
        alone=None if "step" in names else NO_STEP,
    )
    yield from read(path, since, place, _sample)


def _sample(row: Row, spot: Spot) -> Tables:
    messages = row.get("messages")
    if isinstance(messages, list) and messages and not any(row.get(name) for name in COMPLETION):
        row = {**row, "prompt": text(messages[:-1]) or "", "completion": text(messages[-1:])}
    if messages is not None:
        row = {name: value for name, value in row.items() if name != "messages"}
    read = sample(row, spot.id, 0, spot.time_ns)
    if read is None:
        raise ValueError("it has neither a prompt nor a completion")
    step, task = _step(row.get("step"), spot.place), digest(read["prompt"] or "")
    group = f"{step}/{task}"
    read |= {"step": step, "task": task, "group": read.get("group") or group}
    read["repeat"] = spot.place.repeats.number(group)
    if isinstance(messages, list):
        read["messages"] = messages
    return {"samples": [{name: value for name, value in read.items() if value is not None}]}


def _step(value: Any, place: Place) -> int | None:
    """The step that a row names; 0 in a file without steps."""
    if place.alone is not None:
        return 0
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    step = whole(value) if not isinstance(value, bool) else None
    return step if step == value else None
