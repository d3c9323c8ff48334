"""The evaluation rows of a run as sets: one entry per row, tasks and steps as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # score -> its table

    @cached_property
    def scores(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def main_score(self) -> str:
        """The score to show first: the first that was recorded."""
        return self.scores[0] if self.scores else ""

    def samples(self) -> dict[int, str]:
        """Task, as a number -> the first sample that its rows name. Others are left out."""
        given = np.flatnonzero([sample is not None for sample in self.sample])
        tasks, first = np.unique(self.task[given], return_index=True)
        return {int(task): str(self.sample[given[row]]) for task, row in zip(tasks, first, strict=True)}

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
    tasks, task = _ordered(rows["task"])
    steps, at = np.unique(np.asarray(rows["step"], np.int64), return_inverse=True)
    failed = np.asarray(pc.fill_null(rows["failed"], False), bool)
    clusters = _per_task(rows["cluster"], task, len(tasks))
    tags = _per_task(rows["tags"], task, len(tasks))
    text = arrow.numpy(rows.select(["answer", "sample"]), {})
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
        tuple(_words(None if found is None else parsed(found)) for found in tags),
    )


def _ordered(column: pa.ChunkedArray) -> tuple[tuple[str, ...], Ints]:
    """The words without doubles, in order, and which of them each is. Numbers order as numbers."""
    codes, words = _encoded(pc.fill_null(column, ""))
    unlike = sorted(words, key=lambda word: (not word.isdecimal(), len(word) if word.isdecimal() else 0, word))
    place = {word: number for number, word in enumerate(unlike)}
    return tuple(unlike), np.array([place[word] for word in words], np.int64)[codes]


def _encoded(column: pa.ChunkedArray) -> tuple[Ints, list[Any]]:
    """Texts as numbers, and the texts they number. No text has the number -1."""
    texts = column.combine_chunks().dictionary_encode()
    return np.asarray(pc.fill_null(texts.indices, -1), np.int64), texts.dictionary.to_pylist()


def _repeats(column: pa.ChunkedArray) -> Ints:
    """The repeat of each row. A row without one is a repeat of its own, below 0."""
    alone = -1 - np.arange(len(column), dtype=np.int64)
    given = np.asarray(pc.is_valid(column), bool)
    return np.where(given, np.asarray(pc.fill_null(column, 0), np.int64), alone)


def _values(column: pa.ChunkedArray, failed: NDArray[np.bool_]) -> tuple[dict[str, Floats], NDArray[np.bool_]]:
    """Score -> number of each row, and the rows whose number is not finite.

    A failed row has no score. Equal texts are parsed once: most rows say 0 or 1.
    """
    codes, texts = _encoded(column)
    unlike = [scores if isinstance(scores := parsed(text), dict) else {} for text in texts]
    names = dict.fromkeys(name for one in unlike for name in one)
    numbers = {name: np.array([_number(one.get(name, np.nan)) for one in unlike] + [np.nan]) for name in names}
    odd = np.array([not np.isfinite([*map(_number, one.values())]).all() for one in unlike] + [False], bool)
    finite = {name: np.where(np.isfinite(of), of, np.nan) for name, of in numbers.items()}
    return {name: np.where(failed, np.nan, of[codes]) for name, of in finite.items()}, odd[codes] & ~failed


def _number(value: Any) -> float:
    """A score as a number; NaN for what is none. Strict JSON writes NaN as a word."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _per_task(column: pa.ChunkedArray, task: Ints, tasks: int) -> list[Any]:
    """What the last row of each task says, if any says something."""
    given = np.flatnonzero(np.asarray(pc.is_valid(column), bool))
    last = np.full(tasks, -1)
    np.maximum.at(last, task[given], given)
    said = iter(column.take(last[last >= 0]).to_pylist())
    return [next(said) if row >= 0 else None for row in last]


def _words(tags: Any) -> tuple[str, ...]:
    return tuple(map(str, tags)) if isinstance(tags, list) else ()
