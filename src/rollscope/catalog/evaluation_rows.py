"""Evaluation rows as `evaluate` reads them: checked, and collected by task."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

import numpy as np

from rollscope.errors import BadInput

from .drawing import Floats


@dataclass(frozen=True, slots=True)
class Row:
    """One repeat of a task."""

    repeat: float
    failed: bool
    scores: dict[str, float]
    answer: Hashable
    about: dict[str, float]  # turns, tokens and seconds, if the row has them
    truncated: bool | None  # None without a stop reason


@dataclass(slots=True)
class Task:
    """The rows of one task, in the order of their repeats."""

    rows: list[Row] = field(default_factory=list)
    planned: int = 0

    @property
    def failed(self) -> int:
        return sum(row.failed for row in self.rows)

    @property
    def lost(self) -> int:
        """How many repeats failed, or were planned and have no row."""
        return self.failed + max(self.planned - len(self.rows), 0)

    @property
    def hopeless(self) -> bool:
        """Whether all repeats were lost."""
        return self.lost == max(self.planned, len(self.rows))

    def scored(self, score: str) -> tuple[Floats, list[Hashable] | None]:
        """The scores of the repeats that have one, and their answers if all of them have one."""
        rows = [row for row in self.rows if score in row.scores]
        answers = [row.answer for row in rows]
        return np.array([row.scores[score] for row in rows]), None if None in answers else answers


def tasks_of(
    results: Iterable[Mapping[str, Any]], repeats: int | Mapping[Any, int] | None = None
) -> dict[Hashable, Task]:
    """Collect rows by task. `repeats` is the planned number. Raises BadInput for a wrong row.

    Rows of one task with the same `repeat` are one repeat, such as the model calls of an agent.
    """
    tasks: dict[Hashable, Task] = {}
    parts: dict[tuple[Hashable, Hashable], list[Row]] = {}
    for number, row in enumerate(results):
        if not isinstance(row, Mapping) or "task" not in row:
            example = "{'task': 'q1', 'repeat': 0, 'scores': {'accuracy': 1.0}}"
            raise BadInput(
                f"evaluation row {number} is {row!r:.80}: expected a mapping with a 'task', such as {example}"
            )
        task, repeat = _hashable(row["task"]), _hashable(row.get("repeat"))
        tasks.setdefault(task, Task())
        parts.setdefault((task, ("row", number) if repeat is None else repeat), []).append(_row(number, row))
    for (task, _), rows in parts.items():
        tasks[task].rows.append(_joined(rows))
    if isinstance(repeats, Mapping):
        for name in repeats:
            tasks.setdefault(name, Task())
    for name, task in tasks.items():
        task.rows.sort(key=lambda row: row.repeat)  # the bootstrap draws by position: order must not matter
        task.planned = repeats.get(name, 0) if isinstance(repeats, Mapping) else repeats or 0
    return tasks


def _joined(rows: list[Row]) -> Row:
    """The rows of one repeat as one: numbers are averaged over the rows that have them.

    The repeat failed if all its rows did; its answer is the last one; it was cut if any row was.
    """
    if len(rows) == 1:
        return rows[0]
    ends = [row.truncated for row in rows if row.truncated is not None]
    return Row(
        repeat=rows[0].repeat,
        failed=all(row.failed for row in rows),
        scores=_averaged([row.scores for row in rows]),
        answer=next((row.answer for row in reversed(rows) if row.answer is not None), None),
        about=_averaged([row.about for row in rows]),
        truncated=any(ends) if ends else None,
    )


def _averaged(tables: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: float(np.mean([table[name] for table in tables if name in table])) for name in names}


def _row(number: int, row: Mapping[str, Any]) -> Row:
    repeat = row.get("repeat")
    return Row(
        repeat=float(repeat) if isinstance(repeat, SupportsFloat) else 0.0,
        failed=bool(row.get("failed")),
        scores=_scores(number, row),
        answer=_hashable(row.get("answer")),
        about=_about(number, row),
        truncated=_truncated(row.get("stop_reason")),
    )


def _scores(number: int, row: Mapping[str, Any]) -> dict[str, float]:
    """The scores of a row; none if the row failed."""
    scores = row.get("scores")
    if scores is None:
        scores = {"score": row.get("score")}
    if not isinstance(scores, Mapping):
        example = "{'accuracy': 1.0}"
        raise BadInput(f"evaluation row {number} has scores {scores!r:.60}: expected name -> number, such as {example}")
    known = {str(name): value for name, value in scores.items() if value is not None and not row.get("failed")}
    return {name: _number(number, f"the score {name!r}", value) for name, value in known.items()}


def _about(number: int, row: Mapping[str, Any]) -> dict[str, float]:
    values = {name: row.get(name) for name in ("turns", "tokens", "seconds")}
    return {
        name: float(len(x)) if isinstance(x, list | tuple) else _number(number, name, x)
        for name, x in values.items()
        if x is not None
    }


def _truncated(stop_reason: Any) -> bool | None:
    if stop_reason is None:
        return None
    return "length" in (stop_reason if isinstance(stop_reason, list | tuple) else [str(stop_reason)])


def _number(row: int, what: str, value: Any) -> float:
    if isinstance(value, str | bytes) or not isinstance(value, SupportsFloat):
        raise BadInput(
            f"evaluation row {row} has {what} = {value!r:.60}: expected a number. "
            "What the model answered belongs into 'answer'"
        )
    return float(value)


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)
