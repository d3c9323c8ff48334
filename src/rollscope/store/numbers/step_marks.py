"""A number for each step of a run, to tell which steps changed since the last look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .rows import Ints, stretch_starts


@dataclass(frozen=True, slots=True)
class StepMarks:
    """Steps, ascending, and their marks. A dictionary would take ten times the memory."""

    steps: Ints
    marks: Ints

    def __len__(self) -> int:
        return len(self.steps)

    @classmethod
    def of(cls, marks: Mapping[int, int]) -> StepMarks:
        steps = np.fromiter(marks, np.int64, len(marks))
        order = np.argsort(steps, kind="stable")
        return cls(steps[order], np.fromiter(marks.values(), np.int64, len(marks))[order])

    @classmethod
    def sum(cls, parts: Sequence[StepMarks]) -> StepMarks:
        """The steps of all parts; marks of one step are added."""
        if len(parts) == 1:
            return parts[0]
        steps = np.concatenate([np.empty(0, np.int64), *(part.steps for part in parts)])
        marks = np.concatenate([np.empty(0, np.int64), *(part.marks for part in parts)])
        if (steps[1:] > steps[:-1]).all():
            return cls(steps, marks)
        order = np.argsort(steps, kind="stable")
        steps, marks = steps[order], marks[order]
        starts = stretch_starts(steps)
        return cls(steps[starts], np.add.reduceat(marks, starts))

    def by_step(self) -> dict[int, int]:
        return dict(zip(self.steps.tolist(), self.marks.tolist(), strict=True))

    def until(self, step: int | None) -> StepMarks:
        """The steps up to a step."""
        end = len(self) if step is None else int(np.searchsorted(self.steps, step, "right"))
        return StepMarks(self.steps[:end], self.marks[:end])

    def at(self, steps: Ints) -> Ints:
        """The marks of some steps, 0 where there is none."""
        if not len(self):
            return np.zeros(len(steps), np.int64)
        place = np.minimum(np.searchsorted(self.steps, steps), len(self) - 1)
        return np.where(self.steps[place] == steps, self.marks[place], 0)

    def has(self, steps: Ints) -> np.ndarray:
        """Which of these steps are here."""
        return np.isin(steps, self.steps)

    def changed_since(self, before: StepMarks) -> list[int]:
        """Steps that are new, or have another mark than before."""
        at = np.searchsorted(before.steps, self.steps)
        inside = np.flatnonzero(at < len(before))
        same = np.zeros(len(self), bool)
        there = at[inside]
        same[inside] = (before.steps[there] == self.steps[inside]) & (before.marks[there] == self.marks[inside])
        changed: list[int] = self.steps[~same].tolist()
        return changed

    def gone_since(self, before: StepMarks) -> list[int]:
        """Steps that were there before and are not here."""
        gone: list[int] = before.steps[~self.has(before.steps)].tolist()
        return gone


NONE = StepMarks(np.empty(0, np.int64), np.empty(0, np.int64))
