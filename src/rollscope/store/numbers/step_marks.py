"""A number for each step of a run, to tell which steps changed since the last look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .rows import Ints


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

    def by_step(self) -> dict[int, int]:
        return dict(zip(self.steps.tolist(), self.marks.tolist(), strict=True))

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
