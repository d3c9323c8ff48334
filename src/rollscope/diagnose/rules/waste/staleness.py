"""Data that is older than it should be, and what is thrown away for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.rule import FloatArray, Series, rule

PATIENCE = 5
RECENT = 10  # steps whose oldest sample counts: engines get new weights in turns
PAUSE = 20  # steps without an old sample that do not end the finding
BOUND = 4.0  # versions; beyond what frameworks begin with, without a bound of the run's own
AGE = ("staleness/trained/p95", "staleness/p95", "staleness/trained/mean", "staleness/mean", "staleness/max")
STALE = ("discarded/reason/max_async", "discarded/reason/stale", "discarded/reason/off_policy")


@rule("staleness", needs=(AGE, AboutRun()), optional=(STALE, ("policy/kl_sampler_k3", "policy/kl_behaviour_k3")))
def staleness(
    age: Series,
    about: About,
    thrown: Series | None = None,
    kl: Series | None = None,
    *,
    watch: float = 0.1,
    bad: float = 2.0,
) -> Iterator[Finding]:
    """Samples are too old: many versions lie between the weights that wrote them and this update.

    Old data drags the update towards a policy that is gone. A bound throws such samples away
    instead, and then the work is lost. Pace the sampling, keep fewer requests in flight, or correct
    with importance weights.
    """
    bound = _bound(about)
    recent = _oldest(age, RECENT)
    if len(recent) - last_stretch(recent > bound) >= PATIENCE:
        start = last_stretch(_oldest(age, PAUSE) > bound)
        yield _old(age, start, float(recent[-1]), bound, bad, kl)
    elif thrown is not None:
        yield from _thrown(thrown, watch)


def _oldest(age: Series, width: int) -> FloatArray:
    """The highest age of the last points, at each point."""
    padded = np.concatenate([np.full(width - 1, -np.inf), age.value])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, width).max(axis=1), np.float64)


def _old(age: Series, start: int, now: float, bound: float, bad: float, kl: Series | None) -> Finding:
    drift = f" KL to the sampler reaches {kl.value[-20:].max():.3g}." if kl is not None and len(kl) else ""
    return Finding(
        step=int(age.step[start]),
        claim="Samples are too old",
        evidence=f"Up to {now:.0f} versions in the last ten steps, {bound:.0f} are the bound.{drift}",
        severity="bad" if now > bad * bound else "watch",
        metrics=(age.name, "policy/kl_sampler_k3", "mismatch/weight_effective"),
        check=("How often do the engines get new weights?", "How many requests are in flight?"),
        advice=(
            Advice("Update the engines after every step, or pace the sampling", "tinker-cookbook#822"),
            Advice("Correct with importance weights", "AReaL, veRL"),
        ),
        samples="off_policy_steps > 4",
    )


def _thrown(thrown: Series, watch: float) -> Iterator[Finding]:
    share = average(thrown.value, 10)
    start = last_stretch(share > watch)
    if len(share) - start < 10:
        return
    yield Finding(
        step=int(thrown.step[start]),
        claim="Samples are thrown away because they are too old",
        evidence=f"{100 * share[-1]:.0f} % of the samples of the last ten steps were generated in vain.",
        severity="watch",
        metrics=(thrown.name, "staleness/mean"),
        check=("Requests in flight against the size of a step", "The slowest samples of a step"),
        advice=(Advice("Keep fewer requests in flight", "marin#8955: a fifth of the groups was lost"),),
        samples="discard_reason in ('max_async', 'stale', 'off_policy')",
    )


def _bound(about: About) -> float:
    given = about.setting("max_off_policy_steps", "max_head_offpolicyness", "max_async_level", "max_staleness")
    return float(given) if isinstance(given, int | float) and 0 < given < 1000 else BOUND
