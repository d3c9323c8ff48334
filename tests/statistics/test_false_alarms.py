"""Nothing changed: how often do the tests say that something did? A small share of bench/alarms.py.

Bounds are those of the promise, widened by three standard errors of the draws made here.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from bench import alarms

DRAWS = 400
TRAINED = Path(__file__).parent / "data" / "trainer_repeats.npz"  # by bench/repeats.py: 12 seeds, 100 tasks, 8 repeats


def within(share: float, promise: float, slack: float, draws: int = DRAWS) -> bool:
    return abs(share - promise) <= slack + 3 * math.sqrt(promise * (1 - promise) / draws)


def test_an_exact_test_alarms_at_most_as_often_as_it_says() -> None:
    assert alarms.exact(DRAWS) <= 0.06 + 3 * math.sqrt(0.05 * 0.95 / DRAWS)


@pytest.mark.parametrize("measure", [alarms.permutation, alarms.clustered, alarms.seeds])
def test_other_tests_alarm_in_five_of_a_hundred(measure: alarms.Measure) -> None:
    assert within(measure(DRAWS), 0.05, 0.01)


@pytest.mark.parametrize("measure", [alarms.task_coverage, alarms.cluster_coverage, alarms.seed_coverage])
def test_an_interval_covers_the_truth(measure: alarms.Measure) -> None:
    assert within(measure(DRAWS), 0.95, 0.015)


def test_repeats_of_the_trainer_alarm_as_often_as_promised() -> None:
    scores = np.load(TRAINED)["scores"].astype(float)
    slack = 3 * math.sqrt(0.05 * 0.95 / DRAWS)
    assert alarms.repeats_exact(scores, DRAWS) <= 0.06 + slack
    assert within(alarms.repeats_permuted(scores, DRAWS), 0.05, 0.01)
    assert within(alarms.repeats_seeds(scores, DRAWS), 0.05, 0.01)
