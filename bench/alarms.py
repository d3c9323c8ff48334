"""How often the statistics are wrong where nothing changed, and how often intervals cover.

Synthetic tasks have a chance of being solved; two evaluations draw their own repeats from the same
chances, so that every alarm is false. Clusters share a part of their chance. Seeds of a
configuration are normal.

Then the same on trainings that differ in nothing but their seed (`bench/repeats.py`). Repeats of
one checkpoint are shared out at random between two sides, and seeds between two groups.
Run: python bench/alarms.py [DRAWS] [FOLDER], which keeps the trainings.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from rollscope.statistics import interval
from rollscope.statistics.paired import paired

DRAWS, TASKS, REPEATS, CLUSTERS, SEEDS = 4_000, 120, 4, 40, 5
Measure = Callable[[int], float]
Scores = NDArray[np.float64]  # seeds by tasks by repeats


def exact(draws: int = DRAWS) -> float:
    """One repeat a task, right or wrong: McNemar's exact test."""
    random = np.random.default_rng(1)
    return float(np.mean([_alarms(random, 1, None) for _ in range(draws)]))


def permutation(draws: int = DRAWS) -> float:
    """The mean of four repeats a task: a permutation of signs."""
    random = np.random.default_rng(2)
    return float(np.mean([_alarms(random, REPEATS, None) for _ in range(draws)]))


def clustered(draws: int = DRAWS) -> float:
    """Tasks of one source move together: the permutation flips whole clusters."""
    random = np.random.default_rng(3)
    labels = [str(task % CLUSTERS) for task in range(TASKS)]
    return float(np.mean([_alarms(random, REPEATS, labels) for _ in range(draws)]))


def _alarms(random: np.random.Generator, repeats: int, labels: list[str] | None) -> bool:
    chance = random.beta(1, 1, TASKS)
    one, other = (random.binomial(repeats, chance) / repeats for _ in range(2))
    if labels is not None:
        other = other + random.normal(0, 0.1, CLUSTERS)[np.array([int(label) for label in labels])]
    return paired(one, other, labels).p <= 0.05


def seeds(draws: int = DRAWS) -> float:
    """Two groups of five seeds of one configuration: Welch's t."""
    random = np.random.default_rng(4)
    return float(np.mean([interval.welch(*random.normal(0, 1, (2, SEEDS)))[3] <= 0.05 for _ in range(draws)]))


def task_coverage(draws: int = DRAWS) -> float:
    """The mean over tasks of a set, drawn from all tasks there could be."""
    random = np.random.default_rng(5)
    scores = random.binomial(REPEATS, random.beta(2, 2, (draws, TASKS))) / REPEATS
    return float(np.mean([_covers(interval.mean(one).interval(), 0.5) for one in scores]))


def cluster_coverage(draws: int = DRAWS) -> float:
    """The same where tasks of one source share a part of their score."""
    random = np.random.default_rng(6)
    of = np.arange(TASKS) % CLUSTERS
    found = []
    for _ in range(draws):
        scores = random.normal(0, 1, CLUSTERS)[of] + random.normal(0, 1, TASKS)
        found.append(_covers(interval.mean(scores, of.tolist()).interval(), 0.0))
    return float(np.mean(found))


def seed_coverage(draws: int = DRAWS) -> float:
    """The difference of two configurations over five seeds each, of unlike spread."""
    random = np.random.default_rng(7)
    found = []
    for _ in range(draws):
        _, low, high, _ = interval.welch(random.normal(0, 1, SEEDS), random.normal(0.3, 1.5, SEEDS))
        found.append(low <= 0.3 <= high)
    return float(np.mean(found))


def repeats_exact(scores: Scores, draws: int = DRAWS) -> float:
    """Two repeats of every task of a checkpoint, one a side: McNemar's exact test."""
    return _between_repeats(scores, draws, 1, 8)


def repeats_permuted(scores: Scores, draws: int = DRAWS) -> float:
    """All repeats of a checkpoint, one half a side: a permutation of signs."""
    return _between_repeats(scores, draws, scores.shape[2] // 2, 9)


def _between_repeats(scores: Scores, draws: int, size: int, seed: int) -> float:
    random = np.random.default_rng(seed)
    found = []
    for draw in range(draws):
        shuffled = random.permuted(scores[draw % len(scores)], axis=1)
        found.append(paired(shuffled[:, :size].mean(1), shuffled[:, size : 2 * size].mean(1)).p <= 0.05)
    return float(np.mean(found))


def repeats_seeds(scores: Scores, draws: int = DRAWS) -> float:
    """The mean scores of ten seeds, five a side: Welch's t."""
    random = np.random.default_rng(10)
    ends = scores.mean(axis=(1, 2))
    sides = (random.permutation(ends)[: 2 * SEEDS].reshape(2, SEEDS) for _ in range(draws))
    return float(np.mean([interval.welch(*both)[3] <= 0.05 for both in sides]))


def _covers(ends: tuple[float, float], truth: float) -> bool:
    return ends[0] <= truth <= ends[1]


MEASURES: dict[str, Measure] = {
    "false alarms, exact test on 0 and 1": exact,
    "false alarms, permutation of tasks": permutation,
    "false alarms, permutation of clusters": clustered,
    "false alarms, two groups of five seeds": seeds,
    "coverage of 95 %, tasks": task_coverage,
    "coverage of 95 %, clusters of tasks": cluster_coverage,
    "coverage of 95 %, difference of seeds": seed_coverage,
}
ON_REPEATS: dict[str, Callable[[Scores, int], float]] = {
    "false alarms on the trainer's repeats, exact test": repeats_exact,
    "false alarms on the trainer's repeats, permutation": repeats_permuted,
    "false alarms on the trainer's seeds, five against five": repeats_seeds,
}


def main() -> None:
    import repeats
    import results

    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    folder = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    scores = repeats.scores(Path(folder))
    shares = {name: measure(draws) for name, measure in MEASURES.items()}
    shares |= {name: measure(scores, draws) for name, measure in ON_REPEATS.items()}
    rows = [results.row(f"rollscope: {name}", "%", [100 * share], draws) for name, share in shares.items()]
    results.show(rows)
    results.append(rows)


if __name__ == "__main__":
    main()
