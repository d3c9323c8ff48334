"""Gradients that jump, and gradients that vanish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.opening import opening, robust_spread
from rollscope.diagnose.curves.series import Mask
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import Evaluations
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import GRAD, REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import FloatArray, Series, rule

LEAST = 20
PATIENCE = 10


@rule("gradient-spikes", needs=(GRAD,), optional=(REWARD, Evaluations()))
def gradient_spikes(
    grad: Series,
    reward: Series | None = None,
    evaluations: Sequence[Evaluation] | None = None,
    *,
    sigmas: float = 8.0,
    times: float = 3.0,
    count: float = 3.0,
    jump: float = 10.0,
    alone: float = 20.0,
) -> Iterator[Finding]:
    """The gradient jumps: some steps are many times as large as their neighbours.

    One batch can undo hundreds of steps. Spikes often come with a mismatch between engine and
    trainer, with very long samples, or with a loss that divides by little. Open the batches of
    these steps. A few small spikes while the run gets better are batches that had more to teach.
    """
    if len(grad) < LEAST:
        return
    usual = level(grad.value, 15)
    before = np.concatenate([usual[:1], usual[:-1]])
    spread = robust_spread(grad.value - usual)
    spike = (grad.value > before + sigmas * spread) & (grad.value > times * before) & (before > 0)
    spike[:5] = False
    steps = grad.step[spike]
    risen = last_stretch(usual > jump * max(float(np.median(grad.value[: min(25, len(grad) // 4)])), 1e-12))
    if len(usual) - risen >= PATIENCE:
        yield _risen(grad, risen, float(usual[-1]))
    elif len(steps) >= count or _outdoes(grad.value, spike, alone):
        largest = float((grad.value[spike] / before[spike]).max())
        if largest < jump and improves(reward, evaluations):
            return
        yield _spikes(grad, [int(step) for step in steps], largest)


def _outdoes(value: FloatArray, spike: Mask, alone: float) -> bool:
    """Are two spikes so many times as large as anything before them that no third is needed?

    A batch that has a signal among batches that have none is no spike: the signal was there before.
    """
    usual = np.maximum.accumulate(np.where(spike, 0.0, value))
    return int((value[spike] > alone * usual[spike]).sum()) >= 2


def _risen(grad: Series, start: int, now: float) -> Finding:
    first = float(np.median(grad.value[: min(25, len(grad) // 4)]))
    return Finding(
        step=int(grad.step[start]),
        claim="The gradient grew and stays large",
        evidence=f"{now:.3g} now, {first:.3g} at the opening.",
        severity="bad",
        metrics=(grad.name, "optimiser/lr", "policy/kl_sampler_k3"),
        check=("Learning rate", "Mismatch of engine and trainer", "The longest samples"),
        advice=(
            Advice("Clip the gradient and lower the learning rate", "prime-rl's guide: spikes precede divergence"),
        ),
    )


def _spikes(grad: Series, steps: list[int], largest: float) -> Finding:
    recent = [step for step in steps if step >= grad.step[-1] - 50]
    return Finding(
        step=steps[0],
        until=None if recent else steps[-1],
        moments=tuple(steps),
        claim="The gradient jumps",
        evidence=f"{len(steps)} steps, the largest {largest:.0f} times its neighbours: "
        f"{', '.join(f'{step:,}' for step in steps[:5])}{' ...' if len(steps) > 5 else ''}.",
        severity="bad" if largest >= 10 and len(steps) >= 5 else "watch",
        metrics=(grad.name, "policy/kl_sampler_k3", "mismatch/weight/max"),
        check=("The samples of these steps: length, reward, mismatch", "Gradient clipping"),
        advice=(Advice("Clip the gradient, and mask tokens whose ratio is far off", "VCPO, arXiv 2602.17616"),),
        samples=f"step in ({', '.join(map(str, steps[:5]))})",
    )


@rule(
    "gradient-vanished",
    needs=(GRAD,),
    optional=("group/zero_spread", ("advantage/std", "advantage_sample/generated/std")),
)
def gradient_vanished(
    grad: Series, dead: Series | None = None, advantage: Series | None = None, *, left: float = 0.05
) -> Iterator[Finding]:
    """The signal has gone: gradient or advantages are a twentieth of what they were.

    Nothing is learned any more. If groups have lost their spread, that is why; else look for
    advantages that are divided by a large constant, a mask that removes every token, or a learning
    rate that has decayed to nothing.
    """
    for series, what in ((advantage, "The spread of advantages"), (grad, "The gradient norm")):
        first = opening(series)
        if series is None or first is None or first.level <= 1e-9:
            continue
        now = level(series.value, 5)
        start = last_stretch(now < left * first.level)
        if len(now) - start < PATIENCE:
            continue
        yield Finding(
            step=int(series.step[start]),
            claim="The learning signal has gone",
            evidence=f"{what} is {now[-1]:.2g} now, {first.level:.2g} over the first {first.points} points.",
            severity="bad" if series is advantage else "watch",
            metrics=(series.name, "group/zero_spread"),
            check=("Do groups still have a spread? group/zero_spread", "Normalisation of advantages", "Masks"),
            advice=(Advice("Bring prompts whose answers differ; check the constant that advantages are divided by"),),
        )
        return
