"""Each rule has two tables: series on which it stays quiet, and fewer on which it speaks."""

from __future__ import annotations

import numpy as np
import pytest

from rollscope.diagnose import Finding, Series, all_rules
from rollscope.diagnose.rule import NonFinite

RULES = all_rules()
noise = np.random.default_rng(0).normal(size=400)


def ask(name: str, *values: object) -> list[Finding]:
    r = RULES[name]
    args = [None if v is None else Series.of(v, f"series{i}") for i, v in enumerate(values)]
    args += [None] * (len(r.needs) + len(r.optional) - len(args))
    return list(r.look(*args))


def ramp(a: float, b: float, n: int) -> np.ndarray:
    return np.linspace(a, b, n)


flat = np.ones(60)
drop = np.r_[flat[:30], np.full(30, 0.05)]
ENTROPY_QUIET = {
    "steady": flat,
    "slow decay is not collapse": ramp(1, 0.2, 60),
    "recovered": np.r_[drop, np.ones(6)],
    "too soon to say": drop[:35],
    "no data": np.array([]),
    "one low step": np.r_[flat, 0.01, flat[:5]],
    "rising": ramp(1, 3, 80),
    "noisy but level": 1 + 0.2 * noise[:120],
    "a deterministic policy from the start": np.zeros(60),
}
ENTROPY_FIRES = {
    "fell to a twentieth": (drop, 30),
    "fell slowly to nothing": (np.r_[flat[:20], ramp(1, 0.01, 60), np.full(20, 0.01)], None),
    "collapsed with noise": (np.r_[1 + 0.05 * noise[:40], 0.05 + 0.005 * noise[40:80]], 40),
}

KL_QUIET = {
    "zero": np.zeros(100),
    "linear growth is learning": ramp(0, 0.05, 200),
    "square-root growth": 0.01 * np.sqrt(np.arange(200)),
    "steady with noise": 0.003 * (1 + 0.3 * np.abs(noise[:200])),
    "one spike": np.r_[np.full(60, 0.003), 0.5, np.full(60, 0.003)],
    "tiny numbers that multiply": np.r_[np.full(60, 1e-7), np.full(60, 1e-5)],
    "came back": np.r_[np.full(60, 0.003), np.full(30, 0.03), np.full(60, 0.003)],
    "too short": ramp(0.001, 1, 30),
    "k1 that is a little negative": -0.001 + 0.0005 * noise[:150],
    "a small model that doubles its KL while it learns, with noise": np.r_[
        0.11 + 0.03 * noise[:45], 0.25 + 0.07 * noise[45:150]
    ],
    "a warm start that levels off": 0.02 * (1 - np.exp(-np.arange(200) / 15)),
}
KL_FIRES = {
    "exponential": (np.r_[np.full(80, 0.003), 0.003 * np.exp(ramp(0, 3, 60))], 80),
    "linear take-off after a plateau": (np.r_[0.003 + 0.0002 * noise[:100], ramp(0.003, 0.02, 60)], 100),
    "jump that stays": (np.r_[np.full(100, 0.004), np.full(40, 0.05)], 100),
}

TRUNCATION_QUIET = {
    "none": np.zeros(50),
    "two per cent": np.full(50, 0.02),
    "high at first, then learned to stop": np.r_[np.full(20, 0.9), np.full(40, 0.01)],
    "one bad step": np.r_[np.full(40, 0.01), 0.3, np.full(15, 0.01)],
    "too short": np.full(8, 0.9),
    "no data": np.array([]),
}
TRUNCATION_FIRES = {"a third": (np.full(50, 0.33), 0), "grows": (np.r_[np.full(40, 0.02), ramp(0.02, 0.4, 40)], None)}

REWARD_QUIET = {
    "rising": ramp(0, 1, 100) + 0.02 * noise[:100],
    "flat": 0.5 + 0.05 * noise[:200],
    "flat with large noise": 0.5 + 0.3 * noise[:300],
    "dip that recovered": np.r_[ramp(0, 0.6, 60), ramp(0.6, 0.4, 20), ramp(0.4, 0.65, 40)],
    "saturated with noise": np.r_[ramp(0, 0.9, 50), 0.9 + 0.03 * noise[:150]],
    "too short": ramp(1, 0, 30),
    "no data": np.array([]),
    "one terrible step": np.r_[ramp(0, 0.6, 80), -5.0, 0.6 + 0.01 * noise[:30]],
    "constant": np.ones(100),
}
REWARD_FIRES = {
    "turned": (np.r_[ramp(0, 0.6, 80), ramp(0.6, 0.2, 60)] + 0.02 * noise[:140], 80),
    "collapsed": (np.r_[ramp(0, 0.8, 60), np.zeros(40)], 60),
}


def cases(table: dict[str, object]) -> list[object]:
    return [pytest.param(*(v if isinstance(v, tuple) else (v,)), id=k) for k, v in table.items()]


@pytest.mark.parametrize("value", cases(ENTROPY_QUIET))
def test_entropy_stays_quiet(value: np.ndarray) -> None:
    assert ask("entropy-collapse", value) == []


@pytest.mark.parametrize("value, since", cases(ENTROPY_FIRES))
def test_entropy_speaks(value: np.ndarray, since: int | None) -> None:
    (finding,) = ask("entropy-collapse", value)
    assert since is None or abs(finding.step - since) <= 5


@pytest.mark.parametrize("value", cases(KL_QUIET))
def test_kl_stays_quiet(value: np.ndarray) -> None:
    assert ask("kl-takeoff", value) == []


@pytest.mark.parametrize("value, since", cases(KL_FIRES))
def test_kl_speaks(value: np.ndarray, since: int) -> None:
    (finding,) = ask("kl-takeoff", value)
    assert abs(finding.step - since) <= 15


@pytest.mark.parametrize("value", cases(TRUNCATION_QUIET))
def test_truncation_stays_quiet(value: np.ndarray) -> None:
    assert ask("truncation", value) == []


@pytest.mark.parametrize("value, since", cases(TRUNCATION_FIRES))
def test_truncation_speaks(value: np.ndarray, since: int | None) -> None:
    (finding,) = ask("truncation", value)
    assert finding.severity == "bad" and (since is None or finding.step == since)


@pytest.mark.parametrize("value", cases(REWARD_QUIET))
def test_reward_stays_quiet(value: np.ndarray) -> None:
    assert ask("reward-falling", value) == []


@pytest.mark.parametrize("value, since", cases(REWARD_FIRES))
def test_reward_speaks(value: np.ndarray, since: int) -> None:
    (finding,) = ask("reward-falling", value)
    assert abs(finding.step - since) <= 12


DEAD_QUIET = {
    "few": (np.full(40, 0.2),),
    "as many as expected": (np.full(40, 0.66), np.full(40, 0.66)),
    "a little more than expected": (np.full(40, 0.7), np.full(40, 0.62)),
    "one bad step": (np.r_[np.full(40, 0.2), 1.0, np.full(12, 0.2)],),
    "too short": (np.full(6, 1.0),),
    "recovered": (np.r_[np.full(40, 0.9), np.full(20, 0.2)],),
}
DEAD_FIRES = {
    "unknown expectation": (np.full(40, 0.6), None, None, "watch"),
    "far above expected": (np.full(40, 0.7), np.full(40, 0.3), None, "watch"),
    "all fail": (np.full(40, 0.9), np.full(40, 0.3), np.full(40, 0.89), "bad"),
}


@pytest.mark.parametrize("series", [pytest.param(v, id=k) for k, v in DEAD_QUIET.items()])
def test_dead_groups_stay_quiet(series: tuple[np.ndarray, ...]) -> None:
    assert ask("dead-groups", *series) == []


@pytest.mark.parametrize("dead, expected, failing, severity", cases(DEAD_FIRES))
def test_dead_groups_speak(
    dead: np.ndarray, expected: np.ndarray | None, failing: np.ndarray | None, severity: str
) -> None:
    (finding,) = ask("dead-groups", dead, expected, failing)
    assert finding.severity == severity


def test_non_finite_is_quiet_without_any() -> None:
    assert list(RULES["non-finite"].look([NonFinite("loss", 0, 0, 0, 0, 10)])) == []


def test_a_gradient_that_is_nan_is_bad_and_a_statistic_only_worth_a_look() -> None:
    metrics = [NonFinite("optimiser/grad_norm", 1, 0, 7, 7, 10), NonFinite("reward/std", 2, 0, 3, 9, 10)]
    findings = RULES["non-finite"].look(metrics)
    assert [(f.severity, f.step) for f in findings] == [("bad", 7), ("watch", 3)]


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_teaches(name: str) -> None:
    r = RULES[name]
    assert len(r.title) > 30 and len(r.teaches) > 80 and r.title.endswith(".")
