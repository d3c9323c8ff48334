"""Our statistics against scipy, statsmodels and rliable on shared cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from rliable import metrics as rliable_metrics
from statsmodels.stats.contingency_tables import mcnemar as sm_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from rollscope.statistics import interval, power, seeds
from rollscope.statistics.exact import mcnemar
from rollscope.statistics.factors import effects
from rollscope.statistics.holm import holm
from rollscope.statistics.noise import noise
from rollscope.statistics.paired import equivalent, paired
from rollscope.statistics.permutation import sign_flip

SEEDS = range(5)
CLOSE: Any = {"rel": 1e-6, "abs": 1e-9}


def quarters(random: np.random.Generator, n: int = 60) -> np.ndarray:
    return random.integers(0, 5, n) / 4


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_and_interval_of_tasks(seed: int) -> None:
    values = quarters(np.random.default_rng(seed))
    ours = interval.mean(values)
    theirs = scipy.stats.t.interval(0.95, len(values) - 1, values.mean(), scipy.stats.sem(values))
    assert ours.interval() == pytest.approx(theirs, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_clustered_interval(seed: int) -> None:
    random = np.random.default_rng(seed)
    clusters = random.integers(0, 12, 80)
    values = random.normal(size=12)[clusters] + random.normal(size=80)
    fit = sm.OLS(values, np.ones(80)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "df_correction": True}, use_t=True
    )
    ours = interval.mean(values, clusters.tolist())
    n, groups = 80, 12
    theirs = fit.bse[0] / math.sqrt((n - 1) / (n - 1))  # with one column statsmodels' correction is G / (G - 1)
    assert ours.error == pytest.approx(theirs, **CLOSE) and ours.units == groups
    assert ours.interval() == pytest.approx(fit.conf_int()[0], **CLOSE)


@pytest.mark.parametrize(("learnt", "lost"), [(0, 0), (1, 0), (3, 9), (31, 14), (200, 170), (5, 5)])
def test_mcnemar(learnt: int, lost: int) -> None:
    theirs = sm_mcnemar(np.array([[50, learnt], [lost, 50]]), exact=True).pvalue if learnt + lost else 1.0
    assert mcnemar(learnt, lost) == pytest.approx(theirs, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [3, 8, 12])
def test_sign_flips_of_few_tasks_are_exact(seed: int, n: int) -> None:
    gaps = np.random.default_rng(seed).integers(-4, 6, n) / 4
    theirs = scipy.stats.permutation_test(
        (gaps,), np.mean, permutation_type="samples", n_resamples=math.inf, vectorized=False
    )
    assert sign_flip(gaps) == pytest.approx(theirs.pvalue, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_sign_flips_of_many_tasks_are_near_the_t_test(seed: int) -> None:
    gaps = np.random.default_rng(seed).normal(0.2, 1, 300)
    assert sign_flip(gaps) == pytest.approx(scipy.stats.ttest_1samp(gaps, 0).pvalue, abs=0.01)


@pytest.mark.parametrize("seed", SEEDS)
def test_equivalence(seed: int) -> None:
    random = np.random.default_rng(seed)
    before = quarters(random)
    after = before + random.normal(0.01, 0.2, len(before))
    theirs = ttost_paired(after, before, -0.05, 0.05)[0]
    assert equivalent(before, after, 0.05) == pytest.approx(theirs, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_holm(seed: int) -> None:
    given = np.random.default_rng(seed).random(7) ** 3
    assert holm(given.tolist()) == pytest.approx(multipletests(given, method="holm")[1].tolist(), **CLOSE)


@pytest.mark.parametrize("n", [5, 40, 400])
def test_detectable_difference(n: int) -> None:
    gaps = np.random.default_rng(n).normal(0, 0.3, n)
    theirs = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) * gaps.std(ddof=1)
    assert power.detectable(gaps) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(3, 1), (5, 8), (10, 3)])
def test_interquartile_mean_and_improvement(seed: int, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(seed)
    a, b = random.random(shape), random.random((shape[0] + 1, shape[1])) + 0.1
    assert seeds.iqm(a) == pytest.approx(rliable_metrics.aggregate_iqm(a), **CLOSE)
    theirs = rliable_metrics.probability_of_improvement(b, a)
    assert seeds.improvement(a, b) == pytest.approx(theirs, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_welch(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(0, 1, 3), random.normal(1, 2, 5)
    theirs = scipy.stats.ttest_ind(b, a, equal_var=False)
    low, high = theirs.confidence_interval()
    assert interval.welch(a, b) == pytest.approx((b.mean() - a.mean(), low, high, theirs.pvalue), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_effects_of_factors(seed: int) -> None:
    random = np.random.default_rng(seed)
    factors = {name: random.integers(0, 2, 24).tolist() for name in ("lr", "clip", "kl")}
    design = np.column_stack([np.ones(24), *(np.array(v) != max(set(v), key=v.count) for v in factors.values())])
    y = design @ [0.5, 0.2, -0.1, 0.0] + random.normal(0, 0.05, 24)
    fit = sm.OLS(y, design).fit()
    ours = effects(y, factors)
    assert [effect.effect for effect in ours] == pytest.approx(fit.params[1:].tolist(), **CLOSE)
    ends = [end for effect in ours for end in (effect.low, effect.high)]
    assert ends == pytest.approx(fit.conf_int()[1:].ravel().tolist(), **CLOSE)


def test_noise_is_the_pooled_spread() -> None:
    groups = [[0.1, 0.2, 0.3], [0.5, 0.55], [0.9]]
    fit = sm.OLS([0.1, 0.2, 0.3, 0.5, 0.55], np.array([[1, 0]] * 3 + [[0, 1]] * 2)).fit()
    ours = noise(groups)
    assert ours.spread == pytest.approx(math.sqrt(fit.mse_resid), **CLOSE)
    assert (ours.freedom, ours.runs, ours.configurations) == (3, 5, 2)


def test_paired_of_zero_and_one_is_mcnemar_and_of_shares_a_permutation() -> None:
    before, after = np.array([0, 0, 1, 1, 1, 0.0]), np.array([1, 1, 0, 1, 1, 1.0])
    assert paired(before, after).p == pytest.approx(mcnemar(3, 1)) and paired(before, after).method.startswith("McN")
    assert paired(before / 2, after / 2).p == pytest.approx(sign_flip((after - before) / 2))
