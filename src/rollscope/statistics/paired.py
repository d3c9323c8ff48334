"""Two evaluations of the same tasks: the difference, its interval, its p, and equivalence.

Scores of 0 and 1 take McNemar's exact test; others a permutation of signs. The interval is
Student's t over tasks, or over clusters of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rollscope.errors import RollscopeError

from . import interval
from .exact import mcnemar
from .permutation import sign_flip
from .units import Clusters, Floats, values_of


@dataclass(frozen=True, slots=True)
class Paired:
    """After minus before, over the tasks of both."""

    difference: float
    low: float
    high: float
    p: float
    n: int  # tasks
    units: int  # tasks, or clusters where they were declared
    method: str  # "McNemar, exact" or "permutation"


def paired(before: ArrayLike, after: ArrayLike, clusters: Clusters = None, level: float = 0.95) -> Paired:
    """Compare two scores of each task, given in the same order."""
    a, b = both(before, after)
    gap = interval.mean(b - a, clusters)
    low, high = gap.interval(level)
    binary = clusters is None and is_binary(a) and is_binary(b)
    p = mcnemar(int(np.sum(b > a)), int(np.sum(b < a))) if binary else sign_flip(b - a, clusters)
    method = "McNemar, exact" if binary else "permutation"
    return Paired(gap.value, low, high, p if len(a) else interval.NAN, len(a), gap.units, method)


def both(before: ArrayLike, after: ArrayLike) -> tuple[Floats, Floats]:
    a, b = values_of(before), values_of(after)
    if len(a) != len(b):
        raise RollscopeError(f"there are {len(a)} scores before and {len(b)} after; pair them by task first")
    return a, b


def is_binary(scores: Floats) -> bool:
    return bool(np.isin(scores, (0.0, 1.0)).all())


def worse(before: ArrayLike, after: ArrayLike, margin: float = 0.0, clusters: Clusters = None) -> float:
    """p of the claim that the score fell by more than a margin; 1 if it did not fall so far."""
    a, b = both(before, after)
    if not len(a):
        return interval.NAN
    if float((b - a).mean()) >= -margin:
        return 1.0
    return paired(a, b, clusters).p if margin == 0 else sign_flip(b - a + margin, clusters)


def equivalent(before: ArrayLike, after: ArrayLike, margin: float, clusters: Clusters = None) -> float:
    """p of the claim that the difference lies within a margin: two one-sided t tests (TOST)."""
    a, b = both(before, after)
    if margin <= 0:
        raise RollscopeError(f"the margin is {margin}; a positive difference that would not matter is expected")
    gap = interval.mean(b - a, clusters)
    if gap.units < 2:
        return interval.NAN
    if gap.error == 0:
        return float(abs(gap.value) >= margin)
    above = interval.tail((gap.value + margin) / gap.error, gap.freedom)
    below = interval.tail((margin - gap.value) / gap.error, gap.freedom)
    return max(above, below)
