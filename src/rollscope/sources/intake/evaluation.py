"""Rows of evaluations, as files of other programs hold them, and the samples they bring."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Records

from .gather import number

LONGEST_NAME = 1000  # characters of a set, a task or a score
BATCH = 500
CHARACTERS = 4 << 20
PIECE = 1 << 20


@dataclass(slots=True)
class Evaluations:
    """Collects rows of `evals` and of `samples`, and passes them on in batches."""

    time_ns: int
    evals: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    characters: int = 0

    def add(self, row: Mapping[str, Any], sample: Mapping[str, Any] | None = None) -> None:
        """A row of `evals`; its sample has an id, and may have prompt, completion and messages."""
        about = {"step": row.get("step", 0), "time_ns": self.time_ns, "task": row["task"], "repeat": row["repeat"]}
        if sample is not None:
            self.samples.append({**about, "split": "eval", "env": row["set"], **sample})
            self.characters += sum(len(value) for value in sample.values() if isinstance(value, str))
        self.evals.append({**about, **row, "sample": None if sample is None else sample["id"]})

    def full(self) -> Iterator[Item]:
        """The batches, if there is enough for some."""
        if len(self.evals) >= BATCH or self.characters >= CHARACTERS:
            yield from self.rest()

    def rest(self) -> Iterator[Item]:
        if self.samples:
            yield Records("samples", self.samples)
        if self.evals:
            yield Records("evals", self.evals)
        self.evals, self.samples, self.characters = [], [], 0


def scores_of(values: Mapping[str, Any]) -> dict[str, float]:
    """The scores that are numbers; true and false count as 1 and 0."""
    found = {str(name)[:LONGEST_NAME]: number(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not None}


def finite(value: Any) -> float | None:
    as_float = number(value)
    return as_float if as_float is not None and math.isfinite(as_float) else None


def text_of(value: Any) -> str | None:
    """A text, or the texts of a list of messages."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        parts = [text_of(one.get("content", one.get("text")) if isinstance(one, Mapping) else one) for one in value]
        return "\n\n".join(part for part in parts if part)
    return str(value)


def content_digest(path: Path) -> str:
    """A hash of what a file holds: a copy of it elsewhere has the same."""
    found = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            found.update(piece)
    return found.hexdigest()
