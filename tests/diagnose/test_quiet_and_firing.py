"""Every rule stays quiet on more than it speaks of; each row is a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rollscope.diagnose import Series, all_rules
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.case import Gauge
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.rule import NonFinite
from rollscope.diagnose.testing import check
from tests.diagnose.run_tables import RUN_TABLES

RULES = all_rules()
random = np.random.default_rng(3)
Rows = dict[str, tuple[Any, ...]]


def noise(n: int, size: float = 1.0) -> np.ndarray:
    return size * random.normal(size=n)


def ramp(a: float, b: float, n: int) -> np.ndarray:
    return np.linspace(a, b, n)


def flat(value: float, n: int) -> np.ndarray:
    return np.full(n, float(value))


def percent(numbers: str) -> np.ndarray:
    return np.array(numbers.split(), float) / 100


def held_out(values: np.ndarray, every: int = 10, score: str = "acc") -> list[Evaluation]:
    return [Evaluation("set", score, Series.of(values, "eval/set/acc", np.arange(len(values)) * every))]


RUNNING, CRASHED = About(last_step=100, planned=200), About(state="crashed", reason="boom", last_step=9, planned=80)
rising, level_reward = ramp(0.2, 0.8, 200) + noise(200, 0.02), 0.5 + noise(200, 0.02)
age = flat(1, 100)
FEW_PROMPTS = (  # of 100
    "92 88 96 91 64 83 61 83 90 45 78 54 73 77 74 82 78 79 72 76 49 52 64 65 41 49 47 "
    "62 63 58 92 75 60 56 53 53 55 56 65 55"
)
BONUSES = (  # of 100
    "92 98 79 78 90 85 81 78 88 91 86 73 91 83 79 89 63 77 88 85 88 85 91 85 94 80 90 "
    "89 96 94 78 92 101 89 85 96 74 83 96 108 84 75 89 79 100 86 75 101 83 93 93 58 69 83 "
    "93 107 105 94 86 92 126 88 100 92 98 93 82 90 118 100 107 89 89 94 90 79 99 85 85"
)
REGAINED = (  # of 100
    "78 91 89 76 81 78 76 57 69 52 67 44 49 53 39 31 50 62 61 59 59 67 55 56 51 71 62 "
    "71 73 83 75 50 58 59 67 56 58 91 72 62 58 65 75 72 50 55 77 66 59 75 89 91 76 88 "
    "56 72 79 73 99 91 78 74 88 57 69 56 84 72 85 69 84 89 92 85 101 78 99 90 84 81"
)
bursts = np.where((np.arange(80) >= 30) & (np.arange(80) % 14 < 4), 0.0, 1.0)
heavy = 0.7 * np.random.default_rng(11).normal(size=80)
seldom = np.where(np.arange(80) % 9 == 8, 1.0, 0.7)

TABLES: dict[str, tuple[Rows, Rows]] = {
    "ended-early": (
        {
            "a run that still runs": (RUNNING,),
            "a run that finished": (About(state="finished", last_step=200, planned=200),),
            "a run that finished without a plan": (About(state="finished", last_step=7),),
        },
        {
            "a worker died": (About(state="crashed", reason="WorkerDied: exit code 1", last_step=3),),
            "a crash without a reason": (CRASHED,),
        },
    ),
    "broken-start": (
        {
            "ratios near 1": (RUNNING, 1 + 0.01 * np.sin(np.arange(20))),
            "several passes over one batch": (About(config={"num_iterations": 4}), flat(1.2, 20)),
            "samples of older weights, as in a resumed asynchronous run": (RUNNING, flat(1.2, 20), flat(2, 20)),
            "a resumed run begins in its middle": (RUNNING, Series.of(flat(1.3, 20), "r", np.arange(20) + 300)),
            "ratios leave 1 later": (RUNNING, np.r_[1.0, flat(1.3, 19)]),
            "advantages that are not divided by their spread": (RUNNING, None, None, flat(0.2, 20), flat(0.3, 20)),
            "nine of ten groups have no spread": (RUNNING, None, None, flat(0.31, 20), flat(0.05, 20)),
            "a critic that knows its returns": (
                *(RUNNING, None, None, flat(0.01, 20), flat(0.4, 20), None, None, flat(0.1, 20)),
            ),
            "every answer is one token": (RUNNING, None, None, None, None, flat(1, 20)),
            "a reference that is left slowly": (RUNNING, None, None, None, None, None, ramp(0, 0.4, 40)),
            "a third of the answers of an untrained model are spaces": (RUNNING, *[None] * 7, flat(0.34, 20)),
            "answers lose their text later, as a policy that collapses": (RUNNING, *[None] * 7, ramp(0, 1, 20)),
        },
        {
            "a mask is shifted: the first ratio is 1.4": (RUNNING, flat(1.4, 3)),
            "an epsilon of 10,000": (RUNNING, None, None, flat(4e-5, 20), flat(0.4, 20)),
            "nothing is decoded": (RUNNING, None, None, None, None, flat(0, 20)),
            "the reference is another model": (RUNNING, None, None, None, None, None, flat(0.3, 20)),
            "every answer has tokens, and no text": (RUNNING, *[None] * 7, flat(1, 20)),
        },
    ),
    "stalled": (
        {
            "it logged a minute ago": (About(silent_seconds=60), flat(10, 20), None),
            "an evaluation of twenty minutes": (About(silent_seconds=1200), flat(10, 20), None),
            "slow steps of an hour take an hour": (About(silent_seconds=4000), flat(3600, 20), None),
            "it has ended": (About(state="finished", silent_seconds=0), flat(10, 20), None),
            "two steps are too few to know": (About(silent_seconds=9000), flat(10, 2), None),
            "a rollout of two hours is open by design": (About(silent_seconds=7000), flat(7200, 5), None),
        },
        {
            "two hours of silence after steps of ten seconds": (About(silent_seconds=7200), flat(10, 20), None),
            "eight hours of silence after steps of an hour": (About(silent_seconds=28_800), flat(3600, 20), None),
        },
    ),
    "non-finite": (
        {
            "logged every tenth step, with NaN in between": ([NonFinite("eval/acc", 270, 0, 1, 299, 300)],),
            "no metric has any": ([],),
            "a loss that was always a number": ([NonFinite("policy/loss", 0, 0, 0, 0, 400)],),
            "many metrics, all of them numbers": ([NonFinite(f"m{i}", 0, 0, 0, 0, 9) for i in range(50)],),
        },
        {
            "the gradient overflowed once": ([NonFinite("optimiser/grad_norm", 0, 1, 7, 7, 400)],),
            "a statistic of an empty batch": ([NonFinite("reward/std", 2, 0, 3, 9, 400)],),
        },
    ),
    "reward-falling": (
        {
            "it rises": (rising,),
            "flat with large noise": (0.5 + noise(300, 0.3),),
            "a dip that recovered": (np.r_[ramp(0, 0.6, 60), ramp(0.6, 0.4, 20), ramp(0.4, 0.65, 40)],),
            "saturated with noise": (np.r_[ramp(0, 0.9, 50), 0.9 + noise(150, 0.03)],),
            "few prompts a step, which differ much": (percent(FEW_PROMPTS),),
            "level for sixty steps, and two bad ones": (np.r_[flat(0.5, 60), flat(0.04, 2)],),
        },
        {
            "it turned at step 80": (np.r_[ramp(0, 0.6, 80), ramp(0.6, 0.2, 60)] + noise(140, 0.02),),
            "it collapsed to nothing": (np.r_[ramp(0, 0.8, 60), flat(0, 40)],),
        },
    ),
    "kl-takeoff": (
        {
            "beta is 0, and 0 is logged": (flat(0, 100),),
            "linear growth is learning": (ramp(0, 0.05, 200),),
            "one spike": (np.r_[flat(0.003, 60), 0.5, flat(0.003, 60)],),
            "it grows while the reward rises": (np.r_[flat(0.01, 60), ramp(0.01, 0.06, 140)], rising),
            "it takes off while the reward goes from 0.5 to 0.9": (
                np.r_[flat(0.004, 60), ramp(0.01, 0.12, 60)],
                np.r_[0.5 + noise(60, 0.02), ramp(0.5, 0.9, 60)],
            ),
            "far from the reference at once, and the reward holds": (flat(4, 60), level_reward[:60]),
            "equal updates add up: the square of the steps": (1e-5 * np.arange(90.0) ** 2, level_reward[:90]),
            "equal gradients while the learning rate warms up": (
                1e-8 * np.cumsum(np.minimum(np.arange(120.0), 60)) ** 2,
                level_reward[:120],
                None,
                np.minimum(np.arange(120.0), 60),
            ),
            "nats of a whole answer, not of a token": (24 + np.sin(np.arange(200)), level_reward),
            "a small model, whose k3 has a heavy tail": (
                np.r_[0.3 * np.exp(heavy[:40]), 0.6 * np.exp(heavy[40:])],
                np.r_[ramp(0.4, 0.9, 30), flat(0.92, 50)],
            ),
        },
        {
            "exponential while reward is level": (
                np.r_[flat(0.003, 80), 0.003 * np.exp(ramp(0, 3, 60))],
                level_reward[:140],
            ),
            "a jump that stays": (np.r_[flat(0.004, 100), flat(0.05, 40)], level_reward[:140]),
            "gone after the first update, and half of the reward is luck": (
                np.r_[0, 9.7, 4.3, flat(7.7, 20)],
                np.r_[0.45, 0.11, 0.06, np.tile([0.25, 0.38, 0.13, 0.25], 5)],
            ),
            "gone after the first update": (np.r_[0, flat(5, 11)], np.r_[0.6, flat(0.02, 11)]),
        },
    ),
    "truncation": (
        {
            "none": (flat(0, 50),),
            "two per cent": (flat(0.02, 50),),
            "high at first, then it learned to stop": (np.r_[flat(0.9, 20), flat(0.01, 40)],),
            "a tenth, and cut answers are left out of the loss": (
                flat(0.1, 50),
                None,
                About(config={"mask_truncated_completions": True}),
            ),
            "answers grow, and no more are cut than before": (0.02 + 0.01 * heavy[:60], ramp(300, 500, 60)),
            "a little more are cut, and answers are as long as ever": (ramp(0.005, 0.04, 120), flat(300, 120)),
            "answers grow, and one in two hundred more is cut": (ramp(0.004, 0.009, 120), ramp(300, 500, 120)),
        },
        {
            "a third": (flat(0.33, 50),),
            "answers grow into the limit, three of a hundred so far": (
                0.005 + 0.03 * ramp(0, 1, 90) ** 2 + 0.003 * np.sin(7 * np.arange(90)),
                ramp(400, 700, 90),
            ),
            "it grows to four of ten": (np.r_[flat(0.02, 40), ramp(0.02, 0.4, 40)],),
        },
    ),
    "zero-gradient": (
        {
            "gradients that are small": (flat(1e-6, 80),),
            "one step in twenty": (np.tile(np.r_[0.0, flat(1, 19)], 5),),
            "micro-steps are logged between updates": (np.tile([0.0, 0.0, 0.0, 1.0], 20),),
            "a learning rate of zero in warm-up": (flat(0, 40), None, flat(0, 40)),
            "groups are logged, and say more": (flat(0, 40), flat(0.9, 40)),
            "too short to say": (flat(0, 8),),
        },
        {
            "two of three steps have none": (np.where(np.arange(60) * 7 % 11 % 3 == 0, 1.0, 0.0),),
            "all of them": (flat(0, 60),),
        },
    ),
    "entropy-collapse": (
        {
            "a benign run: 1.9 to 0.45 while reward goes from 0.19 to 0.9": (
                ramp(1.9, 0.45, 200),
                ramp(0.19, 0.9, 200) + noise(200, 0.02),
            ),
            "everything is solved, and the policy is sure": (
                np.geomspace(0.7, 0.15, 200) + noise(200, 0.005),
                np.r_[ramp(0.4, 0.95, 100), 0.97 + noise(100, 0.01)],
            ),
            "solved by the declared measure": (
                np.geomspace(0.7, 0.15, 200),
                np.r_[ramp(1, 3.8, 100), 3.9 + noise(100, 0.02)],
                None,
                About(declared={"reward_max": 4.0}),
            ),
            "it falls a little and stays": (np.r_[ramp(1, 0.6, 100), flat(0.6, 100)], level_reward),
            "a cliff at a resume, ten steps ago": (np.r_[flat(1, 110), flat(0.4, 10)], level_reward[:120]),
            "a cliff at a resume, long ago": (np.r_[flat(1, 60), flat(0.4, 60)], level_reward[:120]),
            "twelve steps into a run that learns": (ramp(0.7, 0.5, 12), level_reward[:12]),
            "a negative coefficient, and entropy stays where it was": (
                0.7 + 0.02 * np.sin(7 * np.arange(40)),
                level_reward[:40],
                None,
                About(config={"entropy_coef": -0.001}),
            ),
            "it falls off while the reward climbs": (
                np.r_[flat(1, 100), np.geomspace(1, 0.4, 30)],
                np.r_[flat(0.2, 100), ramp(0.2, 0.7, 30)],
            ),
        },
        {
            "on its way while reward is level": (np.geomspace(0.7, 0.15, 200) + noise(200, 0.002), level_reward),
            "it falls off once the reward stops": (
                np.r_[ramp(1, 0.9, 150), np.geomspace(0.9, 0.42, 32)],
                np.r_[ramp(0.2, 0.6, 150), 0.6 + 0.02 * np.sin(7 * np.arange(32))],
            ),
            "a negative coefficient pays for certainty, twelve steps into the run": (
                ramp(0.7, 0.5, 12),
                level_reward[:12],
                None,
                About(config={"entropy_coef": -0.1}),
            ),
            "a negative coefficient pays for certainty": (
                ramp(0.7, 0.2, 80),
                level_reward[:80],
                None,
                About(config={"entropy_coef": -0.1}),
            ),
        },
    ),
    "dead-groups": (
        {
            "the torso of a step after a worker died": (
                np.r_[flat(0.2, 20), 1.0],
                None,
                None,
                None,
                None,
                About(state="crashed", reason="WorkerDied: exit code 1", last_step=20),
            ),
            "few": (flat(0.2, 40),),
            "as many as a task that is learned leaves": (
                np.r_[ramp(0, 0.65, 60), flat(0.65, 20)],
                None,
                None,
                None,
                np.r_[ramp(0.45, 0.95, 60), flat(0.95, 20)],
                About(config={"num_generations": 8}),
            ),
            "as many as the pass rates predict": (flat(0.66, 40), flat(0.66, 40)),
            "a critic needs no groups": (flat(0.7, 40), None, None, None, None, About(algorithm="ppo")),
        },
        {
            "the run starved at its last step": (
                np.r_[flat(0.2, 20), 1.0],
                None,
                None,
                None,
                None,
                About(state="crashed", reason="Starved: nothing to train on", last_step=20),
            ),
            "most, for long": (flat(0.9, 40),),
        },
    ),
    "entropy-explosion": (
        {
            "steady": (1 + noise(200, 0.05), level_reward),
            "it rises with the reward": (ramp(1, 3, 200), rising),
            "it rises with the held-out score": (ramp(1, 3, 200), level_reward, held_out(ramp(0.2, 0.7, 20))),
            "it doubles by noise of a tiny level": (np.abs(noise(200, 0.001)), level_reward),
            "it falls": (ramp(2, 0.4, 200), level_reward),
            "one spike": (np.r_[flat(1, 100), 9, flat(1, 99)], level_reward),
        },
        {
            "it triples while reward is level": (
                np.r_[flat(1, 60), ramp(1, 3.5, 140)] + noise(200, 0.02),
                level_reward,
            ),
            "it explodes at a step": (np.r_[flat(0.7, 100), flat(4.5, 100)], level_reward),
        },
    ),
    "kl-strangled": (
        {
            "beta is 0, so 0 is logged": (flat(0, 100), level_reward[:100], About(config={"beta": 0.0})),
            "small, but the reward rises": (flat(5e-5, 200), rising, RUNNING),
            "it has just begun": (flat(5e-5, 20), level_reward[:20], RUNNING),
            "an ordinary KL": (ramp(0, 0.05, 200), level_reward, RUNNING),
        },
        {"it never moves": (np.abs(noise(200, 1e-5)) + 1e-6, level_reward, RUNNING)},
    ),
    "kl-first-tokens": (
        {
            "the whole answer moves away": (ramp(0.01, 0.6, 200), ramp(0.01, 0.5, 200), level_reward),
            "first tokens move more in this run, from its opening on": (ramp(0.04, 0.6, 200), ramp(0.01, 0.15, 200)),
            "the beginning is far away for a few steps": (
                np.r_[flat(0.02, 60), flat(0.5, 12), flat(0.02, 60)],
                np.r_[flat(0.02, 60), flat(0.08, 12), flat(0.02, 60)],
            ),
            "many times the mean, which is next to nothing": (ramp(1e-5, 0.05, 120), ramp(1e-5, 0.0015, 120)),
            "a new way to begin, and the reward climbs with it": (
                np.r_[flat(0.01, 40), ramp(0.01, 0.8, 20), flat(0.8, 60)],
                np.r_[flat(0.01, 40), ramp(0.01, 0.12, 20), flat(0.12, 60)],
                np.r_[0.2 + 0.02 * np.sin(7 * np.arange(40)), ramp(0.2, 0.5, 20), flat(0.5, 60)],
            ),
            "a new way to begin, and the evaluation climbs with it": (
                np.r_[flat(0.01, 40), ramp(0.01, 0.8, 80)],
                np.r_[flat(0.01, 40), ramp(0.01, 0.12, 80)],
                level_reward[:120],
                held_out(ramp(0.2, 0.6, 12)),
            ),
            "it has just begun": (ramp(0.01, 0.6, 12), ramp(0.01, 0.09, 12), level_reward[:12]),
            "beta is 0, and 0 is logged": (flat(0, 100), flat(0, 100), level_reward[:100]),
        },
        {
            "the first tokens leave alone while the reward creeps on": (
                np.r_[flat(0.04, 100), ramp(0.04, 0.6, 100)],
                np.r_[flat(0.04, 100), ramp(0.04, 0.12, 100)],
                np.r_[ramp(0.2, 0.6, 100), ramp(0.6, 0.65, 100)] + 0.02 * np.sin(7 * np.arange(200)),
            ),
            "the same without a reward": (
                np.r_[flat(0.04, 40), flat(0.6, 40)],
                np.r_[flat(0.04, 40), flat(0.12, 40)],
            ),
        },
    ),
    "update-too-large": (
        {
            "an ordinary update": (np.abs(noise(100, 0.005)), RUNNING),
            "PPO with several epochs": (0.02 + np.abs(noise(100, 0.02)), RUNNING),
            "one step was large": (np.r_[flat(0.01, 50), 0.9, flat(0.01, 50)], RUNNING),
            "large while the rate warmed down, then ordinary": (np.r_[flat(0.3, 5), flat(0.01, 60)], RUNNING),
            "large at first, and the reward came back": (
                np.r_[flat(0.3, 5), flat(0.01, 60)],
                RUNNING,
                None,
                np.r_[flat(0.7, 2), ramp(0.1, 0.8, 63)],
            ),
        },
        {
            "every update is thirty times the usual": (flat(0.35, 20), RUNNING),
            "the run crashed right after": (np.array([0.35]), CRASHED),
            "large at first, and the reward never came back": (
                np.r_[flat(0.3, 5), flat(0.03, 60)],
                RUNNING,
                None,
                np.r_[0.77, 0.14, flat(0.1, 63)],
            ),
        },
    ),
    "proxy-gap": (
        {
            "the score follows": (rising, held_out(ramp(0.2, 0.7, 20) + noise(20, 0.02))),
            "the score follows with an honest gap": (rising, held_out(ramp(0.15, 0.6, 20) + noise(20, 0.02))),
            "reward is flat": (level_reward, held_out(0.3 + noise(20, 0.03))),
            "reward falls": (ramp(0.8, 0.2, 200), held_out(ramp(0.6, 0.3, 20))),
            "a noisy reward that happens to end high": (
                1 + np.r_[flat(0, 60), [0.3, -0.2, 0.25, -0.1, 0.3, -0.25, 0.2, 0.3]] + noise(68, 0.2),
                held_out(np.r_[ramp(0.5, 0.55, 6), flat(0.55, 8)], 5),
            ),
            "an evaluation too small to tell": (0.5 + 0.05 * ramp(0, 1, 200), held_out(0.4 + noise(20, 0.15))),
            "a score near 0 that may have doubled unseen": (
                0.64 + ramp(0, 0.12, 85) + 0.08 * np.sin(3 * np.arange(85)) + 0.4 * (np.arange(85) % 17 == 0),
                held_out(np.array([4, 8, 8, 12, 8, 4, 4, 8, 2, 10, 8, 8, 8, 10, 4, 10, 8]) / 100, 5),
            ),
            "a reward of 0 to 1 with bonuses, and a score near 0": (
                percent(BONUSES),
                held_out(np.array([6, 2, 12, 8, 4, 6, 4, 6, 10, 6, 2, 8, 6, 4, 6, 6]) / 100, 5),
            ),
            "four evaluations that happen to dip": (
                ramp(0.2, 0.7, 80),
                held_out(np.array([0.2, 0.28, 0.32, 0.41, 0.46, 0.44, 0.45, 0.43])),
            ),
            "both saturate together": (
                np.r_[ramp(0.1, 0.9, 100), 0.9 + noise(100, 0.01)],
                held_out(np.r_[ramp(0.1, 0.8, 10), 0.8 + noise(10, 0.01)]),
            ),
            "a reward that fell, and regains what it had": (
                percent(REGAINED),
                held_out(np.array([10, 4, 6, 10, 8, 10, 4, 2, 10, 6, 4, 2, 8, 6, 4, 6, 6]) / 100, 5),
            ),
        },
        {
            "the score falls while reward rises": (rising, held_out(np.r_[ramp(0.2, 0.5, 8), ramp(0.5, 0.2, 12)])),
            "the score is flat while reward rises": (rising, held_out(0.3 + noise(20, 0.01))),
            "the score has turned, three evaluations ago": (
                ramp(0.2, 0.8, 90) + 0.01 * np.sin(7 * np.arange(90)),
                held_out(np.r_[ramp(0.2, 0.42, 5), [0.42, 0.4, 0.38, 0.36]]),
            ),
        },
    ),
    "length-exploited": (
        {
            "length is level": (300 + noise(200, 10), rising),
            "a reasoning model earns its length": (
                ramp(300, 900, 200),
                rising,
                None,
                held_out(ramp(0.2, 0.7, 20)),
            ),
            "length grows, reward does not": (ramp(300, 900, 200), level_reward),
            "a little longer, and the held-out score follows": (
                ramp(300, 390, 80),
                rising[:80],
                None,
                held_out(ramp(0.2, 0.42, 8)),
            ),
            "a little longer while the reward triples by other means": (
                ramp(300, 370, 200),
                rising,
                None,
                held_out(flat(0.21, 20)),
            ),
            "length falls": (ramp(900, 300, 200), rising),
            "inside groups longer answers come to earn more, slowly": (
                flat(300, 80),
                level_reward[:80],
                ramp(0, 0.85, 80),
            ),
            "inside groups length decided from the first step": (flat(300, 80), level_reward[:80], flat(0.85, 80)),
            "an engine returns empty answers since step 40, which earn nothing": (
                np.r_[flat(300, 40), flat(180, 40)],
                np.r_[level_reward[:40], 0.6 * level_reward[40:80]],
                np.r_[0.1 * heavy[:40], flat(0.9, 40)],
            ),
            "inside groups length decides for five steps": (
                flat(300, 80),
                level_reward[:80],
                np.r_[0.1 * heavy[:40], flat(0.85, 5), 0.1 * heavy[45:80]],
            ),
            "a format is learned at once, and the rest of the reward with the score": (
                ramp(380, 700, 100),
                0.2 + 0.06 / (1 + np.exp(-(np.arange(100) - 24) / 6)) + ramp(0, 0.06, 100),
                None,
                held_out(np.array([0.16, 0.18, 0.21, 0.18]), 25),
            ),
            "a penalty for each token": (flat(30, 60), level_reward[:60], None, None, flat(-0.01, 60)),
            "a slope that is nearly the same at two steps is too little to say": (
                flat(6, 60),
                level_reward[:60],
                None,
                None,
                np.r_[flat(0, 58), 0.125, 0.1251],
            ),
            "a price that was there from the start": (flat(30, 60), level_reward[:60], None, None, flat(0.25, 60)),
            "too short to say": (ramp(300, 900, 10), ramp(0, 1, 10)),
        },
        {
            "both grow and the held-out score does not": (
                ramp(300, 1300, 200) + noise(200, 10),
                rising,
                None,
                held_out(0.21 + noise(20, 0.005)),
            ),
            "a quarter longer, paid with reward, and the held-out score is level": (
                ramp(300, 390, 80),
                ramp(0.2, 0.32, 80) + 0.01 * np.sin(7 * np.arange(80)),
                None,
                held_out(np.array([0.21, 0.22, 0.21, 0.2, 0.21, 0.22, 0.21, 0.21])),
            ),
            "from one step to the next length decides inside groups, before answers grow": (
                flat(300, 80),
                np.r_[flat(0.6, 60), flat(1.6, 20)],
                np.r_[0.1 * heavy[:60], 0.85 + 0.05 * heavy[60:]],
            ),
            "two steps show the same price to the last digit": (
                flat(6, 60),
                level_reward[:60],
                None,
                None,
                np.r_[flat(0, 58), flat(0.125, 2)],
            ),
            "every token adds the same since step 20": (
                flat(6, 60),
                level_reward[:60],
                None,
                None,
                np.r_[flat(0, 20), flat(0.25, 40)],
            ),
        },
    ),
    "reward-noise": (
        {
            "nothing is added": (flat(0, 60),),
            "a little shaping": (flat(0.05, 60),),
            "a steady price for each token": (np.r_[flat(0, 20), flat(0.9, 40)], flat(0.25, 60)),
            "a weighted sum differs from the start": (flat(0.9, 60), noise(60)),
            "one noisy step": (np.r_[flat(0, 30), 0.9, flat(0, 30)],),
            "a penalty that is left over once all is solved": (
                np.r_[flat(0.01, 40), flat(1, 20)],
                None,
                np.r_[ramp(0.4, 0.1, 40), flat(0.05, 20)],
            ),
            "three steps of every nine": (np.where(np.arange(60) % 9 > 5, 0.9, 0.0),),
        },
        {
            "noise since step 20": (np.r_[flat(0, 20), 0.8 + noise(40, 0.05)], noise(60)),
            "a third of the variance, where nothing at all was added": (
                np.r_[flat(0, 20), np.tile([0.05, 0.35, 2.0, 0.3], 10)],
                noise(60),
            ),
        },
    ),
    "engine-mismatch": (
        {
            "the usual gap of two kernels": (np.abs(noise(100, 0.001)),),
            "stale data differs by design": (flat(0.05, 100), flat(2, 100)),
            "one spike": (np.r_[flat(0.001, 50), 0.5, flat(0.001, 50)],),
            "zero, in one process": (flat(0, 100),),
            "zero, and then the rounding of another kernel": (np.r_[flat(0, 50), flat(3e-4, 50)],),
        },
        {
            "since the first step": (flat(0.05, 40), flat(0, 40)),
            "since step 20": (np.r_[flat(0, 20), flat(0.2, 40)], flat(0, 60)),
            "they agreed to the last digit until weights were no longer sent": (
                np.r_[flat(1e-13, 30), ramp(0.001, 0.008, 12)],
            ),
            "the same, a few steps after it": (np.r_[flat(1e-13, 30), 1e-5 * 1.7 ** np.arange(12)],),
        },
    ),
    "staleness": (
        {
            "on policy": (flat(0, 100), RUNNING),
            "as old as the bound allows": (flat(8, 100), About(config={"max_off_policy_steps": 8})),
            "one step of asynchrony": (age, RUNNING),
            "one old batch long ago": (np.r_[flat(1, 20), 9, flat(1, 60)], RUNNING),
            "few are thrown away": (age, RUNNING, flat(0.03, 100)),
            "weights every second step": (np.tile([1.0, 2.0], 40), RUNNING),
            "weights every fourth step, as configured": (
                np.tile([1.0, 2, 3, 4], 20),
                About(config={"trigger_parameter_sync_step": 4}),
            ),
            "a slow worker brings older groups now and then": (np.tile([1.0, 1, 3, 1, 2, 1, 4, 1], 10), RUNNING),
            "a machine that was busy for a while": (np.r_[flat(1, 30), 2, 3, 4, 1, 2, 3, flat(1, 30)], RUNNING),
        },
        {
            "rises to eight and falls back, again and again": (np.tile(np.arange(9.0), 10), RUNNING),
            "weights every fourth step, and nobody asked for it": (np.tile([1.0, 2, 3, 4], 3), RUNNING),
            "a fifth of the groups is lost": (age, RUNNING, flat(0.2, 100)),
        },
    ),
    "clip-saturation": (
        {
            "an ordinary share": (0.03 + noise(100, 0.005),),
            "PPO with two epochs": (0.12 + noise(100, 0.02),),
            "one step clips much": (np.r_[flat(0.02, 50), 0.8, flat(0.02, 50)],),
            "low clips a little more than high": (flat(0.05, 100), flat(0.03, 100), flat(0.02, 100)),
            "lopsided, and entropy stays": (flat(0.08, 60), flat(0.06, 60), flat(0.02, 60), flat(0.6, 60)),
            "too short": (flat(0.6, 5),),
        },
        {
            "four of ten tokens": (0.42 + noise(100, 0.02),),
            "the lower side starves exploration": (flat(0.15, 100), flat(0.13, 100), flat(0.02, 100)),
            "lopsided, and entropy falls": (flat(0.08, 30), flat(0.06, 30), flat(0.02, 30), ramp(0.6, 0.4, 30)),
        },
    ),
    "gradient-spikes": (
        {
            "noise around a level": (1 + noise(200, 0.1),),
            "a tight series with six values at twice the median": (
                np.r_[flat(1, 20), np.tile([2.0, *flat(1, 9)], 6)] + noise(80, 0.001),
            ),
            "one spike": (np.r_[flat(1, 100), 60, flat(1, 100)],),
            "it decays": (ramp(3, 0.3, 200),),
            "two batches with a signal among batches that have none": (
                np.where(np.isin(np.arange(200), (0, 1, 2, 90, 150)), 1.0, 0.01),
            ),
            "five times its neighbours, seldom, while the run learns": (
                np.where(np.arange(200) % 40 == 38, 5.0, 1.0) + noise(200, 0.05),
                rising,
            ),
            "large in the first steps of warm-up": (np.r_[[40, 30, 20], flat(1, 100)],),
        },
        {
            "seven spikes": (np.where(np.arange(400) % 55 == 50, 40.0, 1.0) * (1 + noise(400, 0.1)),),
            "it grew forty times and stays": (np.r_[flat(1, 60), flat(40, 60)],),
            "two, each fifty times as large as anything before": (np.r_[flat(1, 60), 50, flat(1, 30), 55, flat(1, 5)],),
        },
    ),
    "gradient-vanished": (
        {
            "it decays as the run learns": (ramp(1, 0.2, 200),),
            "level": (1 + noise(200, 0.1),),
            "one step of zero": (np.r_[flat(1, 60), 0, flat(1, 60)],),
            "a policy that never had a gradient": (flat(0, 100),),
            "advantages of a normalised batch": (flat(1, 100), None, 1 + noise(100, 0.05)),
        },
        {
            "the gradient is a hundredth": (np.r_[flat(1, 60), flat(0.01, 60)],),
            "advantages lost their spread": (flat(1, 100), None, np.r_[flat(1, 50), flat(0.01, 50)]),
        },
    ),
    "critic-useless": (
        {
            "it learns": (ramp(0, 0.7, 100),),
            "it has just begun": (flat(0, 20),),
            "returns do not vary": (flat(0, 100), flat(0, 100)),
            "noisy but useful": (0.4 + noise(100, 0.2),),
            "a guess at the mean, while the run learns": (
                noise(100, 0.01),
                flat(0.2, 100),
                flat(0.9, 100),
                flat(0.95, 100),
                rising[:100],
            ),
        },
        {
            "a guess for ever": (noise(100, 0.01),),
            "it was good and fell below zero": (ramp(0.6, -0.5, 100),),
            "it says 0 for returns of 0.9, although the run learns": (
                noise(100, 0.01),
                flat(0.2, 100),
                flat(0, 100),
                flat(0.9, 100),
                rising[:100],
            ),
        },
    ),
    "expert-routing": (
        {
            "level": (1 + noise(100, 0.05),),
            "a rise within noise": (1 + noise(100, 0.4),),
            "it falls": (ramp(2, 1, 100),),
        },
        {"it triples": (np.r_[flat(1, 50), flat(3, 50)] + noise(100, 0.02),)},
    ),
    "plateau": (
        {
            "it rises": (rising, RUNNING),
            "early in its plan": (np.r_[ramp(0, 0.5, 60), flat(0.5, 140)], About(last_step=200, planned=2500)),
            "the held-out score still rises": (
                np.r_[ramp(0, 0.5, 60), 0.5 + noise(140, 0.01)],
                About(last_step=200),
                held_out(ramp(0.1, 0.6, 20)),
            ),
            "too short": (flat(0.5, 50), About(last_step=50)),
            "it never moved": (level_reward, About(last_step=200)),
        },
        {"flat for two thirds": (np.r_[ramp(0.1, 0.55, 60), 0.55 + noise(240, 0.015)], About(last_step=300))},
    ),
    "turns-collapse": (
        {
            "level": (3 + noise(100, 0.1), level_reward[:100]),
            "the model has learnt to need no tool": (ramp(4, 1, 200), rising),
            "one turn from the start": (flat(1, 100), level_reward[:100]),
            "a few short steps": (np.r_[flat(4, 60), flat(1, 5), flat(4, 35)], level_reward[:100]),
            "the environment allows one turn now": (
                np.r_[flat(4, 50), flat(1, 50)],
                level_reward[:100],
                None,
                None,
                About(config={"env": {"max_turns": 1}}),
            ),
        },
        {"turns collapse to one": (np.r_[flat(4, 50), flat(1, 50)], level_reward[:100])},
    ),
    "degenerate-text": (
        {
            "none": (flat(0, 40),),
            "code repeats from the start": (flat(0.3, 40),),
            "one bad step": (np.r_[flat(0, 20), 0.5, flat(0, 20)],),
            "a little": (flat(0.03, 40),),
        },
        {"a third since step 20": (np.r_[flat(0.01, 20), flat(0.33, 20)],)},
    ),
    "repetition": (
        {
            "level": (flat(0.02, 100),),
            "tables repeat from the start": (flat(0.4, 100),),
            "one bad step": (np.r_[flat(0.02, 50), 0.9, flat(0.02, 50)],),
        },
        {"it grows to a half": (np.r_[flat(0.02, 50), ramp(0.02, 0.5, 50)],)},
    ),
    "one-template": (
        {
            "answers differ": (flat(0.05, 40),),
            "yes-or-no questions from the start": (flat(0.7, 40),),
            "one step": (np.r_[flat(0.1, 20), 0.9, flat(0.1, 20)],),
        },
        {"one answer for all since step 20": (np.r_[flat(0.1, 20), flat(0.95, 20)],)},
    ),
    "time-limit-zeros": (
        {
            "no wall": (flat(0, 40), flat(30, 40)),
            "batches end together, at another time each": (flat(0.2, 40), 10 + 5 * random.random(40)),
            "one step": (np.r_[flat(0, 20), 0.5, flat(0, 20)], flat(60, 41)),
        },
        {"a quarter ends at sixty seconds": (flat(0.25, 40), flat(60, 40))},
    ),
    "tool-failures": (
        {
            "few fail": (flat(0.05, 60),),
            "the model is still learning the interface": (ramp(0.5, 0.1, 60),),
            "a short outage that is over": (np.r_[flat(0.05, 30), flat(0.6, 4), flat(0.05, 30)],),
            "a third fails from the start": (flat(0.33, 60),),
        },
        {
            "down since step 30": (np.r_[flat(0.05, 30), flat(1, 10)],),
            "the last step, all of them": (np.r_[flat(0.05, 30), 1.0],),
        },
    ),
    "split-groups": (
        {
            "groups of eight": (flat(0, 40),),
            "a few lost members": (flat(0.1, 40),),
            "one step": (np.r_[flat(0, 20), 1, flat(0, 19)],),
        },
        {"each answer alone": (flat(1, 40),)},
    ),
    "wrong-difficulty": (
        {
            "a mixed set": (flat(0.1, 60), flat(0.15, 60)),
            "easy at first only": (np.r_[flat(0.6, 20), flat(0.1, 60)], flat(0.1, 80)),
            "too short": (flat(0.6, 20), flat(0, 20)),
        },
        {"half is always solved": (flat(0.5, 60), flat(0.1, 60))},
    ),
    "weight-sync-cost": (
        {
            "two per cent": (flat(1, 40), flat(50, 40)),
            "large at the first update only": (np.r_[60, flat(1, 40)], np.r_[90, flat(50, 40)]),
            "a tiny model, milliseconds": (flat(0.05, 40), flat(0.2, 40)),
        },
        {"forty per cent of each step": (flat(20, 40), flat(50, 40))},
    ),
    "straggler-answers": (
        {
            "the usual tail": (flat(60, 40), flat(20, 40)),
            "seconds do not matter": (flat(2, 40), flat(0.1, 40)),
            "too few steps": (flat(600, 5), flat(10, 5)),
            "long answers that earn more than the short ones": (flat(600, 40), flat(20, 40), None, flat(0.5, 40)),
        },
        {"thirty times the median": (flat(600, 40), flat(20, 40))},
    ),
    "memory-ahead": (
        {
            "full from the start": ([Gauge("cpu", np.arange(99), flat(0.95, 99))], RUNNING),
            "level": ([Gauge("cpu", np.arange(99), 0.6 + noise(99, 0.01))], RUNNING),
            "it grows, but the run ends first": (
                [Gauge("cpu", np.arange(99), ramp(0.5, 0.6, 99))],
                About(last_step=190, planned=200),
            ),
            "no plan is known": ([Gauge("cpu", np.arange(99), ramp(0.2, 0.9, 99))], About(last_step=50)),
        },
        {"it doubles by half time": ([Gauge("cpu", np.arange(99), ramp(0.4, 0.8, 99))], RUNNING)},
    ),
    "grader-outage": (
        {
            "a hard batch now and then": (np.where(seldom == 1, 0.0, np.abs(0.15 + noise(80, 0.06))), seldom),
            "it earns little, and sometimes nothing": (np.abs(noise(80, 0.05)), flat(0.4, 80)),
            "nothing from the start": (flat(0, 60), flat(1, 60)),
            "one step of it": (np.r_[flat(0.6, 40), 0, flat(0.6, 9)], np.r_[flat(0.1, 40), 1, flat(0.1, 9)]),
            "reward falls, and groups still differ": (ramp(0.8, 0, 60), flat(0.3, 60)),
            "the policy broke: its answers are other ones": (
                np.r_[flat(0.6, 40), flat(0, 10)],
                np.r_[flat(0.1, 40), flat(1, 10)],
                None,
                np.r_[flat(200, 40), flat(900, 10)],
            ),
            "all is solved": (np.r_[ramp(0.5, 1, 40), flat(1, 20)], np.r_[flat(0.2, 40), flat(1, 20)]),
        },
        {
            "a grader that times out in bursts": (bursts * 0.7, 1 - 0.8 * bursts, None, 200 + noise(80, 5)),
            "down since step 40, and the spread is logged": (
                np.r_[0.6 + noise(40, 0.03), flat(0, 4)],
                None,
                np.r_[flat(0.4, 40), flat(0, 4)],
            ),
        },
    ),
    "engine-saturated": (
        {
            "full and nothing waits": (flat(0.99, 20),),
            "half full": (flat(0.5, 20), flat(30, 20)),
            "one reading": (flat(0.99, 2), flat(30, 2)),
        },
        {"full, and requests wait": (flat(0.98, 20), flat(30, 20))},
    ),
}


def test_every_rule_has_more_quiet_rows_than_firing_ones() -> None:
    tables: dict[str, tuple[Any, Any]] = {**TABLES, **RUN_TABLES}
    assert set(tables) == set(RULES)
    assert [name for name, (quiet, firing) in tables.items() if not 0 < len(firing) < len(quiet)] == []


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_rule_is_quiet_on_more_than_it_speaks_of(name: str) -> None:
    quiet, firing = TABLES[name]
    check(RULES[name], quiet, firing)
