"""The best, the worst and the majority of k out of n repeats: exactly, and by bootstrap.

Exact is the expectation over all draws of k repeats without replacement. For scores of 0 and 1, the
best of k is the unbiased pass@k. The bootstrap draws 1,000 times with replacement from seed 42:
the same draws as veRL and Trinity, but from a generator of its own, so that the global random state
does not change.
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
    """The k to report for n repeats: 2, 4, 8, ... below n, and n itself.

    >>> sizes(1), sizes(2), sizes(6), sizes(8)
    ([], [2], [2, 4, 6], [2, 4, 8])
    """
    if n < 2:
        return []
    return [2**i for i in range(1, n.bit_length()) if 2**i < n] + [n]


@lru_cache(maxsize=1024)
def _weights(n: int, k: int) -> Floats:
    """The probability that the i-th smallest of n is the largest of k drawn: C(i-1, k-1) / C(n, k).

    Built from the largest i down, so that nothing overflows.
    """
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
    return math.nan if np.isnan(scores).any() else value  # sorting may give a NaN zero weight


def majority(scores: Floats, answers: Sequence[Hashable], k: int) -> float:
    """Expected score of the most frequent answer among k drawn without replacement.

    Equally frequent answers share the vote. The score of an answer is the mean over the repeats
    that gave it, which is the expected score of one of them.
    """
    votes = Counter(answers)
    chance = dict(_wins(tuple(sorted(votes.values())), k))
    total = dict.fromkeys(votes, 0.0)
    for answer, score in zip(answers, scores.tolist(), strict=True):
        total[answer] += score
    return sum(chance[count] * total[answer] / count for answer, count in votes.items())


@lru_cache(maxsize=4096)
def _wins(counts: tuple[int, ...], k: int) -> tuple[tuple[int, float], ...]:
    """(count, probability) pairs: the chance of an answer with so many repeats to win a draw of k.

    It sums over the v votes that the answer may get; `_products` counts the draws of the others.
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
    """Ways for the other answers to take `rest` votes, none above v, by how many of them reach v.

    These are integers, so nothing rounds.
    """
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
    """The index matrix of the frameworks' bootstrap: k of n repeats in each row."""
    return np.random.RandomState(SEED).choice(n, size=(DRAWS, k), replace=True)


def best_boot(scores: Floats, k: int) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) of the highest of k over the bootstrap draws."""
    drawn = scores[draws(len(scores), k)].max(axis=1)
    return float(drawn.mean()), float(drawn.std())


def worst_boot(scores: Floats, k: int) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) of the lowest of k over the bootstrap draws."""
    drawn = scores[draws(len(scores), k)].min(axis=1)
    return float(drawn.mean()), float(drawn.std())


def majority_boot(scores: Floats, answers: Sequence[Hashable], k: int) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) of the frameworks' vote over the bootstrap draws.

    A draw scores as its first repeat with the most frequent answer. A tie goes to the answer that
    was drawn first.
    """
    number = {answer: i for i, answer in enumerate(dict.fromkeys(answers))}
    codes = np.array([number[answer] for answer in answers])
    index = draws(len(scores), k)
    drawn = codes[index]
    cells = drawn + len(number) * np.arange(DRAWS)[:, None]
    votes = np.bincount(cells.ravel(), minlength=DRAWS * len(number)).reshape(DRAWS, -1)
    first = np.argmax(np.take_along_axis(votes, drawn, axis=1), axis=1)
    won = scores[index[np.arange(DRAWS), first]]
    return float(won.mean()), float(won.std())
