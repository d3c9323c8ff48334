"""The best, the worst and the majority of k out of n repeats: exactly, and as the frameworks' bootstrap.

Exact means the expectation over all ways to draw k of the n repeats without putting any back; for scores of 0 and 1 the best of k
is the unbiased pass@k. The bootstrap draws with replacement, 1,000 times, from seed 42: the same draws veRL and Trinity make, from a
generator of our own, so that nobody else's random numbers move.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000
SEED = 42
Floats = NDArray[np.float64]


def sizes(n: int) -> list[int]:
    """The k that are written for n repeats: 2, 4, 8, ... below n, and n itself.

    >>> sizes(1), sizes(2), sizes(6), sizes(8)
    ([], [2], [2, 4, 6], [2, 4, 8])
    """
    if n < 2:
        return []
    return [2**i for i in range(1, n.bit_length()) if 2**i < n] + [n]


@lru_cache(maxsize=1024)
def _weights(n: int, k: int) -> Floats:
    """How likely the i-th smallest of n is the largest of k drawn: C(i-1, k-1) / C(n, k), built from the top so that nothing overflows."""
    weights = np.zeros(n)
    weight = k / n
    for i in range(n, k - 1, -1):
        weights[i - 1] = weight
        weight *= (i - k) / (i - 1) if i > 1 else 0.0
    return weights


def best(scores: Floats, k: int) -> float:
    """Expected highest of k scores drawn without replacement.

    >>> best(np.array([1.0, 0, 0, 0]), 2), best(np.array([0.8, 0.9]), 2)
    (0.5, 0.9)
    """
    return _propagate(scores, float(np.sort(scores) @ _weights(len(scores), k)))


def worst(scores: Floats, k: int) -> float:
    """Expected lowest of k scores drawn without replacement."""
    return _propagate(scores, -best(-scores, k))


def _propagate(scores: Floats, value: float) -> float:
    return math.nan if np.isnan(scores).any() else value  # a sorted NaN would hide behind a weight of zero


def majority(scores: Floats, answers: Sequence[Hashable], k: int) -> float:
    """Expected score of the most frequent answer among k drawn without replacement; equally frequent answers share the vote.

    An answer stands for the mean score of the repeats that gave it, which is what drawing one of them gives on average.
    """
    votes = Counter(answers)
    chance = dict(_wins(tuple(sorted(votes.values())), k))
    total = {answer: 0.0 for answer in votes}
    for answer, score in zip(answers, scores.tolist(), strict=True):
        total[answer] += score
    return sum(chance[count] * total[answer] / count for answer, count in votes.items())


@lru_cache(maxsize=4096)
def _wins(counts: tuple[int, ...], k: int) -> tuple[tuple[int, float], ...]:
    """For each number of repeats that share an answer, how likely one such answer wins when k of all repeats are drawn.

    A polynomial for each other answer says in how many ways it gets fewer than v votes (power of x) or exactly v (a tie, power of t).
    """
    ways = math.comb(sum(counts), k)
    chances = []
    for count in sorted(set(counts)):
        others = list(counts)
        others.remove(count)
        won = 0.0
        for v in range(1, min(count, k) + 1):
            tied = _products(tuple(others), v, k - v)
            won += math.comb(count, v) * sum(number / (ties + 1) for ties, number in enumerate(tied))
        chances.append((count, won / ways))
    return tuple(chances)


def _products(others: tuple[int, ...], v: int, rest: int) -> list[int]:
    """Ways in which the other answers take `rest` votes, none above v, by how many of them reach v. Whole numbers: no rounding."""
    table = {(0, 0): 1}  # (votes so far, ties so far) -> ways
    for count in others:
        grown: dict[tuple[int, int], int] = {}
        for (votes, ties), ways in table.items():
            for j in range(min(count, v, rest - votes) + 1):
                key = (votes + j, ties + (j == v))
                grown[key] = grown.get(key, 0) + ways * math.comb(count, j)
        table = grown
    tied = [0] * (len(others) + 1)
    for (votes, ties), ways in table.items():
        if votes == rest:
            tied[ties] += ways
    return tied


@lru_cache(maxsize=256)
def draws(n: int, k: int) -> NDArray[np.int64]:
    """The frameworks' index matrix for n repeats and k drawn."""
    return np.random.RandomState(SEED).choice(n, size=(DRAWS, k), replace=True)


def best_boot(scores: Floats, k: int) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) of the highest of k over the bootstrap draws."""
    drawn = scores[draws(len(scores), k)].max(axis=1)
    return float(drawn.mean()), float(drawn.std())


def worst_boot(scores: Floats, k: int) -> tuple[float, float]:
    drawn = scores[draws(len(scores), k)].min(axis=1)
    return float(drawn.mean()), float(drawn.std())


def majority_boot(scores: Floats, answers: Sequence[Hashable], k: int) -> tuple[float, float]:
    """The frameworks' vote: the score of the first drawn repeat among those with the most frequent answer; a tie goes to the answer drawn first."""
    number = {answer: i for i, answer in enumerate(dict.fromkeys(answers))}
    codes = np.array([number[answer] for answer in answers])
    index = draws(len(scores), k)
    drawn = codes[index]
    votes = np.bincount(
        (drawn + len(number) * np.arange(DRAWS)[:, None]).ravel(), minlength=DRAWS * len(number)
    ).reshape(DRAWS, -1)
    first = np.argmax(np.take_along_axis(votes, drawn, axis=1), axis=1)
    won = scores[index[np.arange(DRAWS), first]]
    return float(won.mean()), float(won.std())
