"""Training reward against a held-out score: the one test of reward hacking and overfitting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rollscope.diagnose.curves.trend import rank_correlation, trend
from rollscope.diagnose.curves.window import noise
from rollscope.diagnose.finding import Advice, Finding, Severity
from rollscope.diagnose.needs import Evaluations
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.rule import Series, rule
from rollscope.views.evals.pairing import Side, pair

LEAST = 6  # evaluations
LEAST_TASKS = 5  # that two evaluations share, to be compared task by task
BETTER = ("acc", "pass", "success", "score", "correct", "exact", "solve", "win", "reward", "f1", "mean@")
ENDS = 3  # evaluations whose mean is an end of the comparison
FLAT = 0.25  # of the gain of the reward: a score that gained less did not follow
BONUS = 1.5  # the most that a reward of 0 to 1 earns with small extras
AFTER = 4  # evaluations from the best one on


@dataclass(frozen=True, slots=True)
class Gap:
    """How far the reward went beyond the held-out score since a step, as shares of their ranges."""

    step: int
    reward: float
    score: float
    most: float  # that the score may have gained: the upper end of its interval
    falls: bool  # the held-out score fell by more than its noise

    @property
    def width(self) -> float:
        return self.reward - max(self.score, 0.0)


@rule("proxy-gap", needs=(REWARD, Evaluations(LEAST)))
def proxy_gap(
    reward: Series,
    evaluations: Sequence[Evaluation],
    *,
    watch: float = 0.15,
    bad: float = 0.3,
    gain: float = 0.05,
    lasting: float = 2,
) -> Iterator[Finding]:
    """Reward rises and the held-out score does not follow: reward hacking, or overfitting.

    The policy earns by something that the evaluation does not value: a hole in the grader, a
    format, a length, the training prompts by heart. Read the twenty samples with the highest reward
    of the last steps, grade them a second way, and go back to the checkpoint before the gap opened.
    Without an evaluation nobody can tell this from learning, and one alone is noise: the score must
    lag at `lasting` of them.
    """
    better = [e for e in evaluations if any(word in e.name.lower() for word in BETTER)]
    held_out = [e for e in better if "reward" not in e.score.lower()] or better
    gaps = [(gap, e) for e in held_out if (gap := _lasting_gap(reward, e, gain, int(lasting))) is not None]
    if not gaps:
        return
    gap, e = max(gaps, key=lambda pair: pair[0].width)
    serious = _severity(gap, watch, bad)
    if serious is None or any(_follows(reward, other) for other in held_out):
        return
    yield Finding(
        step=gap.step,
        claim="Reward rises while the held-out score falls"
        if gap.falls
        else "Reward rises, the held-out score does not",
        evidence=f"Since step {gap.step:,} reward gained {100 * gap.reward:.0f} % of its range, "
        f"{e.name} {100 * gap.score:+.0f} % of its own, over {len(e.series)} evaluations.",
        severity=serious,
        metrics=(reward.name, e.series.name, "length/completion/generated/mean"),
        check=(
            "Read the samples with the highest reward of the last steps",
            "Does another grader agree with the reward?",
            "Which component of the reward rises?",
        ),
        advice=(Advice("Go back to the checkpoint before the gap and close the hole in the reward", "rldoctor, METR"),),
        samples="reward >= 0",
    )


def _lasting_gap(reward: Series, e: Evaluation, gain: float, lasting: int) -> Gap | None:
    """The gap, if the score lagged at the evaluations before as well: one evaluation is noise."""
    gap = _gap(reward, e, gain)
    if gap is None or len(e.series) <= LEAST:
        return gap
    for last in e.series.step[-lasting:-1].tolist():
        before = _gap(reward.until(last), e.until(last), gain)
        if before is None or before.score >= FLAT * before.reward:
            return None
    return gap


def _gap(reward: Series, e: Evaluation, gain: float) -> Gap | None:
    """The gap since the score was best, or since the opening; None if the reward did not rise."""
    steps, score = e.series.step, e.series.value
    earned = _smooth_at(reward, steps)
    known = np.isfinite(earned)
    steps, score, earned = steps[known], score[known], earned[known]
    if len(steps) < LEAST:
        return None
    ranges = _range(reward.value), _range(score)
    start = _turn(score)
    ends = min(ENDS, (len(score) - start) // 2)
    up = (earned[-ends:].mean() - max(earned[start : start + ends].mean(), _earlier(earned, start))) / ranges[0]
    down = (score[-ends:].mean() - score[start : start + ends].mean()) / ranges[1]
    if up * ranges[0] < gain * max(1.0, abs(float(np.median(reward.value)))) or not _rises(reward, int(steps[start])):
        return None
    opened = (earned - earned[start]) / ranges[0] - np.maximum(score - score[start], 0.0) / ranges[1]
    apart = start + int(np.argmax(opened[start:] > 0.5 * opened[-ENDS:].mean()))
    error = 2 * noise(score) / ranges[1] * (2 / ends) ** 0.5
    gap = Gap(int(steps[apart]), float(up), float(down), float(down) + error, _fell(e, steps, start))
    first = earned[start : start + ends].mean() / ranges[0], score[start : start + ends].mean() / ranges[1]
    return None if not gap.falls and _may_follow(gap, *first) else gap


def _earlier(earned: np.ndarray, start: int) -> float:
    """The most that was earned before: a reward that regains what it lost has found no hole."""
    runs = [earned[i : i + 2].mean() for i in range(start - 1)]
    return float(max(runs, default=-np.inf))


def _may_follow(gap: Gap, reward: float, score: float) -> bool:
    """Can the score have grown by as large a part of itself as the reward? A small one can."""
    return gap.most / max(abs(score), 0.05) >= 0.75 * gap.reward / max(abs(reward), 0.05)


def _rises(reward: Series, since: int) -> bool:
    """Does the reward rise since a step by more than chance, in all its points?"""
    return trend(reward.value[reward.step >= since]).rises


def _turn(score: np.ndarray) -> int:
    """Where the score stopped rising: around its best, or the opening if it never rose."""
    smooth = np.convolve(score, np.ones(ENDS) / ENDS, "valid")
    best = int(np.argmax(smooth))
    return min(best, len(score) - AFTER)


def _fell(e: Evaluation, steps: np.ndarray, start: int) -> bool:
    """Is the last evaluation below the best one, task by task, by more than chance?"""
    if e.scores is not None:
        pairing = pair(Side(e.scores, int(steps[start])), Side(e.scores, int(steps[-1])))
        if len(pairing.tasks) >= LEAST_TASKS:
            return pairing.result.high < 0
    return trend(e.series.value[e.series.step >= steps[start]]).falls


def _severity(gap: Gap, watch: float, bad: float) -> Severity | None:
    if gap.falls and gap.reward > 0 and gap.score < 0:
        return "bad"
    flat = gap.score < FLAT * gap.reward and gap.most < 0.75 * gap.reward
    return ("bad" if gap.width >= bad else "watch" if gap.width >= watch else None) if flat else None


def _follows(reward: Series, e: Evaluation) -> bool:
    """Does this score rise with the reward over the whole run, and still at its end?"""
    earned = _smooth_at(reward, e.series.step)
    known = np.isfinite(earned)
    late, last = trend(e.series.value[-max(LEAST, len(e.series) // 2) :]), e.series.value[-AFTER:]
    rises = float(last[len(last) // 2 :].mean()) >= float(last[: len(last) // 2].mean())
    return rank_correlation(earned[known], e.series.value[known]) > 0.5 and late.change >= 0 and rises


def _smooth_at(reward: Series, steps: np.ndarray, width: int = 5) -> np.ndarray:
    """The mean of the last few rewards at each of some steps."""
    ends = np.searchsorted(reward.step, steps, side="right")
    return np.array([reward.value[max(0, end - width) : end].mean() if end else np.nan for end in ends.tolist()])


def _range(value: np.ndarray) -> float:
    """The range that a score moves in: 5 % to 95 % of it, and at least 1 for 0 to 1 and a bonus."""
    low, high = np.percentile(value, [5, 95])
    unit = value.min() >= 0 and value.max() <= BONUS
    return float(max(high - low, 1.0 if unit else 1e-9))
