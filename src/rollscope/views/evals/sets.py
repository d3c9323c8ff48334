"""The evaluation rows of a run as sets: one entry per row, tasks and steps as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.strict_json import parsed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
COLUMNS = ("step", "set", "task", "repeat", "scores", "answer", "failed", "sample", "cluster", "tags")


@dataclass(frozen=True)
class EvalSet:
    """The rows of one evaluation set. Arrays of one length: an entry is a row that was recorded."""

    name: str
    tasks: tuple[str, ...]  # in the order of their names
    steps: Ints  # in order
    task: Ints  # of each row, as a number in `tasks`
    at: Ints  # of each row, as a number in `steps`
    repeat: Ints
    failed: NDArray[np.bool_]
    values: Mapping[str, Floats]  # score -> number of each row; NaN: the row has none
    broken: NDArray[np.bool_]  # rows with a score that is NaN or infinite
    answer: NDArray[Any]
    sample: NDArray[Any]
    clusters: tuple[str, ...] | None  # of each task; None: not declared
    tags: tuple[tuple[str, ...], ...]  # of each task

    @cached_property
    def scores(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def main_score(self) -> str:
        """The score to show first: the first that was recorded."""
        return self.scores[0] if self.scores else ""

    def number_of(self, step: int) -> int | None:
        """Where a step stands in `steps`; None if the set was not evaluated at it."""
        found = np.flatnonzero(self.steps == step)
        return int(found[0]) if len(found) else None


def sets(run: Run) -> dict[str, EvalSet]:
    """Every evaluation set of a run, in the order of their names. Kept until the run changes."""
    return run.remember("evals by set", lambda: _read(run))


def _read(run: Run) -> dict[str, EvalSet]:
    rows: pa.Table = run.table("evals", COLUMNS, as_arrow=True)
    known = rows.filter(pc.and_(pc.is_valid(rows["set"]), pc.is_valid(rows["step"])))
    names = known["set"].combine_chunks().dictionary_encode()
    codes = np.asarray(names.indices) if len(known) else np.zeros(0, int)
    every = [(str(name), number) for number, name in enumerate(names.dictionary.to_pylist())]
    return {name: _set(name, known.take(np.flatnonzero(codes == number))) for name, number in sorted(every)}


def _set(name: str, rows: pa.Table) -> EvalSet:
    text = arrow.numpy(rows.drop_columns(["scores", "tags"]), {})
    tasks, task = _ordered(["" if value is None else str(value) for value in text["task"]])
    steps, at = np.unique(np.asarray(rows["step"], np.int64), return_inverse=True)
    failed = np.asarray(pc.fill_null(rows["failed"], False), bool)
    clusters = _per_task(text["cluster"], task, len(tasks))
    tags = _per_task(_decoded(rows["tags"]), task, len(tasks))
    return EvalSet(
        name,
        tasks,
        steps,
        task,
        at.astype(np.int64),
        _repeats(rows["repeat"]),
        failed,
        *_values(rows["scores"], failed),
        text["answer"],
        text["sample"],
        tuple(str(cluster) for cluster in clusters) if all(c is not None for c in clusters) and clusters else None,
        tuple(_words(found) for found in tags),
    )


def _ordered(words: list[str]) -> tuple[tuple[str, ...], Ints]:
    """The words without doubles, in order, and which of them each is. Numbers order as numbers."""
    unlike = sorted(set(words), key=lambda word: (not word.isdecimal(), len(word) if word.isdecimal() else 0, word))
    numbers = {word: number for number, word in enumerate(unlike)}
    return tuple(unlike), np.array([numbers[word] for word in words], np.int64)


def _repeats(column: pa.ChunkedArray) -> Ints:
    """The repeat of each row. A row without one is a repeat of its own, below 0."""
    alone = -1 - np.arange(len(column), dtype=np.int64)
    given = np.asarray(pc.is_valid(column), bool)
    return np.where(given, np.asarray(pc.fill_null(column, 0), np.int64), alone)


def _values(column: pa.ChunkedArray, failed: NDArray[np.bool_]) -> tuple[dict[str, Floats], NDArray[np.bool_]]:
    """Score -> number of each row, and the rows whose number is not finite.

    A failed row has no score. Equal texts are parsed once: most rows say 0 or 1.
    """
    found = [scores if isinstance(scores, dict) else {} for scores in _decoded(column)]
    values = {name: np.full(len(found), np.nan) for name in dict.fromkeys(name for one in found for name in one)}
    broken = np.zeros(len(found), bool)
    for row in np.flatnonzero(~failed):
        for name, value in found[row].items():
            number = _number(value)
            broken[row] |= not np.isfinite(number)
            values[name][row] = number if np.isfinite(number) else np.nan
    return values, broken


def _number(value: Any) -> float:
    """A score as a number; NaN for what is none. Strict JSON writes NaN as a word."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _decoded(column: pa.ChunkedArray) -> Iterator[Any]:
    texts = column.combine_chunks().dictionary_encode()
    unlike = [None if text is None else parsed(text) for text in texts.dictionary.to_pylist()]
    return (None if code is None else unlike[code] for code in texts.indices.to_pylist())


def _per_task(values: Any, task: Ints, tasks: int) -> list[Any]:
    """What the last row of each task says, if any says something."""
    said: list[Any] = [None] * tasks
    for number, value in zip(task, values, strict=True):
        said[number] = value if value is not None else said[number]
    return said


def _words(tags: Any) -> tuple[str, ...]:
    return tuple(map(str, tags)) if isinstance(tags, list) else ()
