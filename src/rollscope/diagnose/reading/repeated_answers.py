"""Byte-identical answers to one prompt, and whether they earned the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from rollscope.store.run import Run

from .live_numbers import MOST_SAMPLES, spread_steps

COLUMNS = ("id", "step", "split", "task", "prompt", "completion", "reward", "reward_version", "error")
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Drift:
    """Answers that were given more than once, and those whose reward changed."""

    repeated: int = 0
    changed: int = 0
    inside: int = 0  # changed within one step
    step: int = 0  # the first step with another reward
    example: tuple[float, float] | None = None
    samples: tuple[str, ...] = ()


def drift(run: Run, until: int | None = None) -> Drift:
    """Compare the rewards of identical answers in the steps whose text is read."""
    steps = [s for s in sorted(run.count_by_step("samples")) if until is None or s <= until]
    chosen = spread_steps(steps)
    rows = run.samples_of_steps(COLUMNS, chosen)
    answers: dict[tuple[str, str], list[tuple[int, float, str]]] = defaultdict(list)
    read: dict[int, int] = defaultdict(int)
    names = ("task", "prompt", "completion", "step", "reward", "id", "split", "error")
    for task, prompt, text, step, reward, id, split, error in zip(*(rows[n].to_pylist() for n in names), strict=True):
        read[step] += 1
        if split == "eval" or not text or reward is None or reward != reward or error or read[step] > 4 * MOST_SAMPLES:
            continue
        answers[str(task or prompt or ""), text].append((step, reward, id))
    return _compared([sorted(some) for some in answers.values() if len(some) > 1])


def _compared(repeated: list[list[tuple[int, float, str]]]) -> Drift:
    changed = [some for some in repeated if np.ptp([reward for _, reward, _ in some]) > TOLERANCE]
    if not changed:
        return Drift(len(repeated))
    inside = sum(_inside(some) for some in changed)
    first = min(changed, key=_first_change)
    other = next(one for one in first if abs(one[1] - first[0][1]) > TOLERANCE)
    return Drift(
        repeated=len(repeated),
        changed=len(changed),
        inside=inside,
        step=_first_change(first),
        example=(first[0][1], other[1]),
        samples=(first[0][2], other[2]),
    )


def _inside(some: list[tuple[int, float, str]]) -> bool:
    by_step: dict[int, set[float]] = defaultdict(set)
    for step, reward, _ in some:
        by_step[step].add(round(reward, 6))
    return any(len(rewards) > 1 for rewards in by_step.values())


def _first_change(some: list[tuple[int, float, str]]) -> int:
    return next((step for step, reward, _ in some if abs(reward - some[0][1]) > TOLERANCE), some[-1][0])
