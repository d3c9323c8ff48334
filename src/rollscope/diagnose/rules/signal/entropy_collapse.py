"""Entropy compared with its own opening: its level differs between models, its fall does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.opening import LEAST, MOST
from rollscope.diagnose.curves.trend import trend
from rollscope.diagnose.curves.window import last_stretch, level, noise
from rollscope.diagnose.finding import Advice, Finding, Severity
from rollscope.diagnose.needs import AboutRun, Evaluations
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import ENTROPY, REWARD
from rollscope.diagnose.reading.progress import at_ceiling, improves
from rollscope.diagnose.rule import FloatArray, Series, rule

PATIENCE = 10  # steps under the floor before the rule speaks
HALF = 0.5  # of the opening: a fall to less is where a collapse begins
SHORT = 20  # points that say whether entropy falls off


@rule("entropy-collapse", needs=(ENTROPY,), optional=(REWARD, Evaluations(), AboutRun()))
def entropy_collapse(
    entropy: Series,
    reward: Series | None = None,
    evaluations: Sequence[Evaluation] | None = None,
    about: About | None = None,
    *,
    floor: float = 0.1,
    gone: float = 0.02,
    ahead: float = 1.0,
) -> Iterator[Finding]:
    """The policy stopped exploring: entropy fell below a tenth of where it opened, or soon will.

    A policy that is sure of every token writes the same answer again and again, groups lose their
    spread, and learning stops. While the reward still rises, a fall is the price of learning, and
    where nearly everything is solved, certainty is earned. Look
    at the upper clip (a tight one keeps rare good tokens from growing), at the learning rate, and
    at the reward spread inside groups. Widen the upper clip or add an entropy bonus before you
    change anything else.
    """
    pushed = _pushed_down(about)
    if len(entropy) < LEAST + (0 if pushed else PATIENCE):
        return
    opened = float(np.median(entropy.value[: min(MOST, max(3, len(entropy) // 4))]))
    if opened <= 0:
        return
    now = level(entropy.value, 5)
    learning, solved = _learns(now, reward, evaluations), at_ceiling(reward, about)
    start = last_stretch(now < floor * opened)
    if len(now) - start >= PATIENCE:
        severity: Severity = "bad" if float(now[-1]) < gone * opened and not learning else "watch"
        severity = "info" if solved and not pushed else severity
        start = start if learning else last_stretch(now < HALF * opened)
        yield _finding(entropy, start, opened, float(now[-1]), "Entropy collapsed", severity, learning, pushed)
    elif _on_its_way(now, opened, floor, ahead, learning, solved) or (pushed and _falls(now, opened)):
        begin = 0 if pushed else last_stretch(now < HALF * opened)  # the configuration pays from the start
        claim = "Entropy is on its way to collapse"
        yield _finding(entropy, min(begin, len(now) - 1), opened, float(now[-1]), claim, "watch", learning, pushed)


def _learns(now: FloatArray, reward: Series | None, evaluations: Sequence[Evaluation] | None) -> bool | None:
    """Does the run get better? Once entropy falls off, what was gained before says nothing."""
    return improves(reward, evaluations, SHORT) if _falls_off(now) else improves(reward, evaluations)


def _falls_off(now: FloatArray) -> bool:
    """Does entropy fall several times faster than before, and by more than its noise?"""
    logs = np.log(np.maximum(now, 1e-9))
    if len(logs) < 3 * SHORT:
        return False
    falls = logs[:-SHORT] - logs[SHORT:]
    usual = float(np.median(falls[:-SHORT]))
    return bool(falls[-1] > max(0.2, 3 * usual, 6 * noise(logs[: -2 * SHORT])))


def _on_its_way(
    now: FloatArray, opened: float, floor: float, ahead: float, learning: bool | None, solved: bool
) -> bool:
    """Does it fall towards the floor, and buy nothing? Where all is solved, certainty is earned."""
    return learning is False and not solved and _falls_to(floor * opened, now, opened, ahead)


def _pushed_down(about: About | None) -> bool:
    """Does the configuration pay for certainty? A negative coefficient does."""
    given = about.setting("entropy_coef", "entropy_coeff", "ent_coef") if about is not None else None
    return isinstance(given, int | float) and given < 0


def _falls(now: FloatArray, opened: float) -> bool:
    """Did entropy lose a tenth of its opening, in a trend over the whole run?"""
    return float(now[-1]) < 0.9 * opened and trend(now).falls


def _falls_to(floor: float, now: FloatArray, opened: float, ahead: float) -> bool:
    """Does entropy, less than half of its opening, reach the floor within as long as it took?"""
    if now[-1] > HALF * opened or now[-1] <= 0 or len(now) < 30:
        return False
    width = SHORT if _falls_off(now) else max(SHORT, len(now) // 2)
    recent = np.log(np.maximum(now[-width:], 1e-9))
    seen = trend(recent)
    if not seen.falls or not trend(recent[-SHORT // 2 :]).falls:
        return False  # a cliff that stays has another cause: a resume, or a changed configuration
    steps = float(np.log(now[-1] / floor)) / (-seen.change / len(recent))
    return steps < ahead * len(now)


def _finding(
    entropy: Series,
    start: int,
    opened: float,
    last: float,
    claim: str,
    severity: Severity,
    learning: bool | None,
    pushed: bool,
) -> Finding:
    text = f"{last:.3g} nats now, {opened:.3g} at the opening: {100 * last / opened:.1f} % is left."
    text += " The entropy coefficient is negative: certainty is paid for." if pushed else ""
    return Finding(
        step=int(entropy.step[start]),
        claim=claim,
        evidence=text + (" The score still rises." if learning else ""),
        severity=severity,
        metrics=(entropy.name, "policy/clip/high", "group/reward_gini"),
        check=(
            "Is the upper clip tight? See policy/clip/high",
            "Do groups still differ? See group/zero_spread",
            "Was the learning rate raised or warmed up just before?",
        ),
        advice=(
            Advice("Widen the upper clip (clip-higher)", "DAPO, arXiv 2503.14476"),
            Advice("Set an entropy target near the opening, or a small entropy bonus", "TRL's GRPO guide"),
        ),
    )
