"""Laws of the statistics: rates of false alarms, coverage, and what too little data gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rollscope.errors import RollscopeError
from rollscope.statistics import interval, power, seeds
from rollscope.statistics.factors import effects
from rollscope.statistics.holm import holm
from rollscope.statistics.noise import noise
from rollscope.statistics.paired import equivalent, paired, worse

ROUNDS = 600


def test_equal_checkpoints_alarm_at_the_stated_rate() -> None:
    random = np.random.default_rng(1)
    hard = random.random(120)
    draws = [random.binomial(4, hard, (2, 120)) / 4 for _ in range(ROUNDS)]
    alarms = np.mean([paired(a, b).p <= 0.05 for a, b in draws])
    assert 0.03 <= alarms <= 0.07  # four standard errors of 600 rounds around 0.05 are 0.014 to 0.086


def test_an_exact_test_never_alarms_too_often() -> None:
    random = np.random.default_rng(2)
    hard = random.random(120)
    draws = [(random.random((2, 120)) < hard).astype(float) for _ in range(ROUNDS)]
    assert np.mean([paired(a, b).p <= 0.05 for a, b in draws]) <= 0.06


@pytest.mark.parametrize("size", [1, 5], ids=["tasks", "clusters of five"])
def test_an_interval_covers_the_truth(size: int) -> None:
    random = np.random.default_rng(3)
    clusters = np.repeat(np.arange(40), size)
    covered = 0
    for _ in range(ROUNDS):
        values = 0.3 + random.normal(size=40)[clusters] + random.normal(size=40 * size)
        low, high = interval.mean(values, clusters.tolist()).interval()
        covered += low <= 0.3 <= high
    assert 0.92 <= covered / ROUNDS <= 0.98


def test_clusters_that_are_ignored_would_alarm_far_too_often() -> None:
    random = np.random.default_rng(4)
    clusters = np.repeat(np.arange(20), 10)
    rates = np.zeros(2)
    for _ in range(200):
        gaps = random.normal(size=20)[clusters] + 0.3 * random.normal(size=200)
        zero = np.zeros(200)
        rates += [paired(zero, gaps, given).p <= 0.05 for given in (None, clusters.tolist())]
    assert rates[0] / 200 > 0.3 and rates[1] / 200 < 0.1


def test_swapping_before_and_after_turns_the_sign_alone() -> None:
    random = np.random.default_rng(5)
    a, b = random.random((2, 50))
    there, back = paired(a, b), paired(b, a)
    assert (back.difference, back.low, back.high) == pytest.approx((-there.difference, -there.high, -there.low))
    assert back.p == pytest.approx(there.p, abs=0.01)


def test_nothing_and_one_task_give_no_number() -> None:
    for n in (0, 1):
        result = paired(np.ones(n), np.ones(n))
        assert math.isnan(result.low) and math.isnan(result.high) and result.n == n
    assert math.isnan(paired([], []).p) and math.isnan(equivalent([1], [1], 0.1))
    assert math.isnan(power.detectable([0.5])) and math.isnan(seeds.iqm_interval([0.5])[0])
    assert math.isnan(noise([[0.5], [0.6]]).floor()) and math.isnan(interval.welch([1.0], [2.0, 3.0])[3])


def test_a_margin_forgives_a_small_fall() -> None:
    random = np.random.default_rng(6)
    before = random.random(400)
    after = before - 0.05 + random.normal(0, 0.1, 400)
    assert worse(before, after) < 0.001 and worse(before, after, 0.2) == 1.0 and worse(after, before) == 1.0
    assert worse(before, after - 0.3, 0.2) < 0.001
    assert equivalent(before, after, 0.1) < 0.001 and equivalent(before, after, 0.04) > 0.5


def test_no_task_moved() -> None:
    same = np.array([0.0, 1.0, 1.0])
    result = paired(same, same)
    assert (result.difference, result.low, result.high, result.p) == (0, 0, 0, 1)
    assert equivalent(same, same, 0.1) == 0.0 and power.detectable(same - same) == 0.0


def test_a_difference_as_small_as_detectable_is_found_four_times_of_five() -> None:
    random = np.random.default_rng(7)
    least = power.detectable(random.normal(0, 1, 10_000)) * math.sqrt(10_000 / 50)  # of 50 tasks
    rounds = [paired(np.zeros(50), random.normal(least, 1, 50)).low > 0 for _ in range(ROUNDS)]
    assert 0.74 <= np.mean(rounds) <= 0.86


def test_factors_that_changed_together_are_named() -> None:
    vllm = ["0.9"] * 4 + ["0.10"] * 4
    mask = [False] * 4 + [True] * 4
    lr = [1, 2] * 4
    scores = [0.1, 0.2, 0.12, 0.21, 0.4, 0.5, 0.41, 0.52]
    found = {effect.change.factor: effect for effect in effects(scores, {"vllm": vllm, "mask": mask, "lr": lr})}
    assert found["vllm"].confounded == ("mask",) and found["mask"].confounded == ("vllm",)
    assert found["vllm"].effect == pytest.approx(0.3, abs=0.01) == pytest.approx(found["mask"].effect, abs=0.01)
    assert found["lr"].confounded == () and found["lr"].low > 0
    assert (found["lr"].runs_with, found["lr"].runs_without) == (4, 4)


def test_a_factor_that_others_add_up_to_has_no_effect_of_its_own() -> None:
    """Runs changed a alone, b alone or c; c is where neither a nor b changed."""
    factors = {"a": [1, 0, 0, 1, 0, 0], "b": [0, 1, 0, 0, 1, 0], "c": [0, 0, 1, 0, 0, 1]}
    for effect in effects([0.1, 0.2, 0.3, 0.11, 0.22, 0.29], factors):
        assert math.isnan(effect.effect) and len(effect.confounded) == 2


def test_without_repeats_an_effect_has_no_interval() -> None:
    (effect,) = effects([0.1, 0.4], {"lr": [1, 2]})
    assert effect.effect == pytest.approx(0.3) and math.isnan(effect.low)


def test_a_test_that_was_not_made_does_not_count_in_holm() -> None:
    assert holm([0.02, math.nan, 0.03])[0] == pytest.approx(0.04)
    assert math.isnan(holm([0.02, math.nan, 0.03])[1]) and holm([]) == []


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: paired([1.0], [1.0, 2.0]), "1 scores before and 2 after"),
        (lambda: paired([math.nan], [1.0]), "NaN or infinite"),
        (lambda: interval.mean([[1.0]]), "shape"),
        (lambda: interval.mean([1.0], ["a", "b"]), "2 clusters for 1 values"),
        (lambda: equivalent([1.0, 2], [1.0, 2], 0), "margin is 0"),
        (lambda: effects([1.0], {"lr": []}), "'lr' has 0 values for 1 runs"),
        (lambda: seeds.improvement([[1.0, 2]], [[1.0]]), "2 tasks and b has 1"),
        (lambda: seeds.iqm([math.nan]), "finite"),
    ],
)
def test_wrong_input_gets_a_sentence(call, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RollscopeError, match=says):
        call()
