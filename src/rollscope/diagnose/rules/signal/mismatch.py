"""Trainer and inference engine disagree about the same tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import robust_spread
from rollscope.diagnose.curves.trend import trend
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import SeriesOrSamples
from rollscope.diagnose.rule import Series, rule

PATIENCE = 5
EXACT = 1e-5  # nats per token: engine and trainer compute the same
K3 = SeriesOrSamples(("policy/kl_sampler_k3",), "sampler_k3")
SHAPES = {  # what the shape says, and what to look at
    "start": ("from the first step", "precision, chat template or sampling settings: they differ from the beginning"),
    "drift": ("and it grows", "the weight update: what the engine samples from is not what was trained"),
    "spikes": ("in bursts", "the engine: a batch, a kernel or a cache that is wrong sometimes"),
    "jump": ("since then", "what changed at that step: weights, engine, or configuration"),
}


@rule(
    "engine-mismatch", needs=(K3,), optional=(("staleness/mean", "staleness/trained/mean"), "mismatch/weight_effective")
)
def engine_mismatch(
    k3: Series, stale: Series | None = None, effective: Series | None = None, *, watch: float = 0.01, bad: float = 0.1
) -> Iterator[Finding]:
    """The engine samples from another policy than the trainer thinks: their log-probabilities
    differ.

    The update is then off-policy without knowing it, and that alone can collapse a run. Staleness
    explains some of it: old weights differ. The shape names the cause: from the first step it is
    precision or template, a steady drift is the weight update, bursts are the engine.
    """
    now = level(k3.value, PATIENCE)
    start = last_stretch(now > _most(k3, watch))
    if len(now) - start < PATIENCE:
        return
    if _explained_by_age(k3, stale):
        return
    start = min(start, last_stretch(k3.value > EXACT)) if _opened_exact(k3) else start
    last, shape = float(now[-1]), _shape(k3, start)
    when, look = SHAPES[shape]
    low = float(np.median(effective.value[-PATIENCE:])) if effective is not None and len(effective) else None
    yield Finding(
        step=int(k3.step[start]),
        claim="Engine and trainer disagree about the same tokens",
        evidence=f"KL between them is {last:.3g} nats per token {when}; 0.001 is usual"
        + (f". Effective share of the samples {100 * low:.0f} %." if low is not None else "."),
        severity="bad" if last > bad or (low is not None and low < 0.3) else "watch",
        metrics=(k3.name, "mismatch/probs_diff/mean", "mismatch/weight_effective", "optimiser/grad_norm"),
        check=(
            f"First {look}",
            "Tokens with a low probability: the gap lives there",
            "Temperature and top-p on both sides",
        ),
        advice=(
            Advice("Correct with truncated importance weights until the cause is found", "veRL's rollout correction"),
            Advice("For a mixture of experts, replay the router's choices", "R3, arXiv 2510.11370"),
        ),
    )


def _most(k3: Series, watch: float) -> float:
    """The bound. Where both agreed to the last digits, far less is much, and least if it grows."""
    if not _opened_exact(k3):
        return watch
    since = k3.value[last_stretch(k3.value > EXACT) :]
    return watch / 100 if trend(since).rises else watch / 10


def _opened_exact(k3: Series) -> bool:
    """Did both agree to the last digits at the opening?"""
    return len(k3) > 2 * PATIENCE and float(np.median(k3.value[:PATIENCE])) < EXACT


def _explained_by_age(k3: Series, stale: Series | None) -> bool:
    """Is the data old, so that the sampler's weights are another policy by design?"""
    return stale is not None and len(stale) > 0 and float(np.median(stale.value[-10:])) >= 1.0


def _shape(k3: Series, start: int) -> str:
    value = k3.value[start:]
    if robust_spread(value) > 2 * float(np.median(value)):
        return "spikes"
    if start <= 2:
        return "drift" if trend(value).rises and value[-1] > 3 * value[0] else "start"
    return "drift" if trend(value).rises else "jump"
