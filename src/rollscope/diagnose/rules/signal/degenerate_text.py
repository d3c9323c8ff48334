"""Answers that fall apart: loops, and one answer for everything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.window import average, last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import FromSamples
from rollscope.diagnose.rule import Series, rule

PATIENCE = 3
REPETITION = (
    *("sample_metric/repetition/generated/mean", "sample_metric/repetition/mean", "sample_metric/repetition_rate/mean"),
    *("rollout/repetition_frac", "repetition_rate"),
)


@rule("degenerate-text", needs=(FromSamples("degenerate_share"),))
def degenerate_text(share: Series, *, watch: float = 0.05, bad: float = 0.25, times: float = 3.0) -> Iterator[Finding]:
    """Answers repeat themselves: loops of the same words, far more than at the opening.

    Code, tables and copied context repeat too, so the run is compared with its own opening. If it
    begins right after a weight update, the engine or its precision is broken; else look at entropy
    and at the mismatch of engine and trainer. Never filter such samples silently.
    """
    first = float(np.mean(share.value[: min(10, max(2, len(share) // 4))]))
    now = average(share.value, PATIENCE)
    start = last_stretch((now > watch) & (now > times * first))
    if len(now) - start < PATIENCE:
        return
    last = float(now[-1])
    yield Finding(
        step=int(share.step[start]),
        claim="Answers repeat themselves",
        evidence=f"{100 * last:.0f} % of the answers that were read are loops, {100 * first:.0f} % at the opening.",
        severity="bad" if last >= bad else "watch",
        metrics=("length/completion/generated/mean", "policy/entropy", "length/truncated/generated"),
        check=("Read three of them", "Did it begin with a weight update?", "Entropy and mismatch at that step"),
        advice=(Advice("Stop and find the cause; filtering hides it", "prime-rl#2734, Trinity-RFT#620"),),
    )


@rule("one-template", needs=(FromSamples("one_answer_share"),))
def one_template(share: Series, *, watch: float = 0.5, bad: float = 0.8) -> Iterator[Finding]:
    """The policy gives the same answer to different prompts: it no longer reads its input.

    Entropy can look healthy while this happens. It is what remains if the reward can be earned
    without the prompt, or if the prompt does not reach the model.
    """
    now = level(share.value, 3)
    first = opening(share)
    start = last_stretch(now >= watch)
    if len(now) - start < PATIENCE or (first is not None and first.level >= watch):
        return
    last = float(now[-1])
    yield Finding(
        step=int(share.step[start]),
        claim="The same answer is given to different prompts",
        evidence=f"One answer goes to {100 * last:.0f} % of the tasks that were read.",
        severity="bad" if last >= bad else "watch",
        metrics=("reward/generated/mean", "policy/entropy", "group/zero_spread"),
        check=("Does the prompt reach the model?", "What does this answer earn?"),
        advice=(Advice("Keep the prompts whose outcome is most uncertain", "RAGEN-2, arXiv 2604.06268"),),
    )


@rule("repetition", needs=(REPETITION,))
def repetition(rate: Series, *, times: float = 3.0, watch: float = 0.15, bad: float = 0.4) -> Iterator[Finding]:
    """The logged rate of repetition grows far beyond its opening.

    It is the same symptom as loops in the text, for runs that log a rate and keep no text. Read
    three of the answers before you believe it.
    """
    first = opening(rate)
    if first is None:
        return
    now = level(rate.value, 5)
    start = last_stretch((now > watch) & (now > times * first.level))
    if len(now) - start < PATIENCE:
        return
    yield Finding(
        step=int(rate.step[start]),
        claim="Answers repeat themselves",
        evidence=f"The logged rate is {now[-1]:.2g} now, {first.level:.2g} at the opening.",
        severity="bad" if now[-1] >= bad else "watch",
        metrics=(rate.name, "policy/entropy"),
        check=("Read three of the answers", "Entropy and mismatch at that step"),
        advice=(Advice("Stop and find the cause; filtering hides it", "prime-rl#2734"),),
    )
