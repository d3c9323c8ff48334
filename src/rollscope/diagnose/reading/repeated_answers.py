"""Byte-identical answers to one prompt, and whether they earned the same.

What a grader gave is the score, where it is known: a reward may hold a price for KL or length that
changes with the policy. A grader that changed pays alike before a step and alike after it; one that
always varies is noisy, and nothing changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rollscope.store.numbers.step_marks import StepMarks
from rollscope.store.run import Run

from .live_numbers import MOST_SAMPLES, RESUMED, spread_steps

COLUMNS = ("id", "step", "split", "task", "prompt", "completion", "reward", "score", "error")
TOLERANCE = 1e-6
Given = tuple[int, float, str]  # step, what was paid, id of the sample
Answer = tuple[int, float, str]  # a hash of the prompt and the text, what was paid, id of the sample
MOST_KEPT = 128  # steps whose answers are kept: those that are asked for, and some that were


@dataclass(frozen=True, slots=True)
class Drift:
    """Answers that were given more than once, and whether a step divides what they earned."""

    repeated: int = 0
    changed: int = 0  # answers that earn something else after the step than before it
    across: float = 0.0  # their share of the answers that were given before it and after it
    within: float = 0.0  # the share of pairs on one side of it that differ: the grader's own noise
    step: int = 0
    example: tuple[float, float] | None = None
    samples: tuple[str, ...] = ()


class RepeatedAnswers:
    """The answers of one reader's run that are compared. Only steps with new samples are read."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._marks: dict[int, int] = {}
        self._answers: dict[int, list[Answer]] = {}
        self._keys: dict[int, frozenset[int]] = {}  # the answers of a step
        self._twice: dict[int, frozenset[int]] = {}  # those that were given twice in it

    def drift(self, until: int | None = None) -> Drift:
        """Compare the rewards of identical answers in the steps whose text is read."""
        counts = self._run.count_by_step("samples")
        steps = spread_steps(counts.until(until).steps)
        marks = StepMarks(steps, counts.at(steps) + RESUMED * self._run.resumes).by_step()
        self._refresh(marks)
        chosen = list(marks)
        given: dict[int, list[Given]] = defaultdict(list)
        again = self._again(chosen)
        for step in chosen if again else ():
            for key, paid, id in self._answers.get(step, ()):
                if key in again:
                    given[key].append((step, paid, id))
        return compared([sorted(some) for some in given.values()])

    def _again(self, steps: Collection[int]) -> set[int]:
        """The answers that were given more than once in these steps; nearly all were given once."""
        seen: set[int] = set()
        again: set[int] = set()
        for step in steps:
            keys = self._keys.get(step, frozenset())
            again |= self._twice.get(step, frozenset())
            again |= seen & keys
            seen |= keys
        return again

    def _refresh(self, marks: dict[int, int]) -> None:
        changed = [step for step, mark in marks.items() if self._marks.get(step) != mark]
        if not changed:
            return
        found: dict[int, list[Answer]] = {step: [] for step in changed}
        for step, answer in _answers(self._run.samples_of_steps(COLUMNS, changed)):
            found[step].append(answer)
        self._answers |= found
        for step in changed:
            counts = Counter(key for key, _, _ in self._answers[step])
            self._keys[step] = frozenset(counts)
            self._twice[step] = frozenset(key for key, count in counts.items() if count > 1)
        self._marks |= marks
        self._forget_all_but(marks)

    def _forget_all_but(self, asked: Collection[int]) -> None:
        """As a run grows, other steps are chosen: forget those that were read first."""
        for step in [step for step in self._answers if step not in asked][: max(0, len(self._answers) - MOST_KEPT)]:
            del self._answers[step], self._marks[step], self._keys[step], self._twice[step]


def drift(run: Run, until: int | None = None) -> Drift:
    """Whether identical answers earn the same; what was read is kept with the reader."""
    kept: RepeatedAnswers = run.companion("repeated answers", lambda: RepeatedAnswers(run))
    return kept.drift(until)


def _answers(rows: pa.Table) -> Iterator[tuple[int, Answer]]:
    """Step and answer of every graded sample of training, of the first ones of each step."""
    read: dict[int, int] = defaultdict(int)
    names = ("task", "prompt", "completion", "step", "reward", "score", "id", "split", "error")
    for task, prompt, text, step, reward, score, id, split, error in zip(
        *(rows[n].to_pylist() for n in names), strict=True
    ):
        read[step] += 1
        paid = score if score is not None and score == score else reward
        if split == "eval" or not text or paid is None or paid != paid or error or read[step] > 4 * MOST_SAMPLES:
            continue
        yield step, (_hashed(str(task or prompt or ""), text), paid, id)


def _hashed(task: str, text: str) -> int:
    """The same for the same answer to the same prompt, in this process. Texts may be long."""
    return hash((task, text))


def compared(repeated: list[list[Given]]) -> Drift:
    """Answers on both sides of the step that divides them best."""
    pairs = [two for some in repeated for two in pairwise(some)]
    first, second = (np.array([pair[i][0] for pair in pairs]) for i in (0, 1))
    differs = np.array([_differ(one[1], other[1]) for one, other in pairs], bool)
    if not differs.any():
        return Drift(len(repeated))
    step = _divides(first[differs], second[differs])
    sides = [sides for some in repeated if (sides := _sides(some, step)) is not None]
    changed = [(before, after) for before, after in sides if _differ(_paid(before), _paid(after))]
    inside = ~((first < step) & (step <= second))
    noise = [_share(differs[inside & same]) for same in (first == second, first != second)]
    return Drift(
        repeated=len(repeated),
        changed=len(changed),
        across=len(changed) / len(sides) if sides else 0.0,
        within=max(noise),
        step=step,
        example=(changed[0][0][-1][1], changed[0][1][0][1]) if changed else None,
        samples=(changed[0][0][-1][2], changed[0][1][0][2]) if changed else (),
    )


def _divides(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """The step that most of the pairs that differ lie around."""
    candidates = np.unique(second)
    around = ((first[:, None] < candidates) & (candidates <= second[:, None])).sum(axis=0)
    return int(candidates[np.argmax(around)])


def _sides(some: list[Given], step: int) -> tuple[list[Given], list[Given]] | None:
    before, after = [one for one in some if one[0] < step], [one for one in some if one[0] >= step]
    return (before, after) if before and after else None


def _paid(some: list[Given]) -> float:
    return float(np.median([paid for _, paid, _ in some]))


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > TOLERANCE


def _share(mask: NDArray[np.bool_]) -> float:
    return float(mask.mean()) if len(mask) else 0.0
