"""Data that is older than it should be, and what is thrown away for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding, Severity
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.rule import FloatArray, Series, rule

PATIENCE = 5
RECENT = 10  # steps whose oldest sample counts: engines get new weights in turns
PAUSE = 20  # steps without an old sample that do not end the finding
TEETH = 16  # steps in which an age that climbs and falls back is looked for
CLIMBS = 0.6  # of these steps: the age grows by one, as it does while engines keep their weights
FALLS = 2  # times that it fell back by two or more
TALL = 3.0  # versions at the top of a tooth
INTERVAL = ("trigger_parameter_sync_step", "update_weights_interval", "weight_sync_interval", "sync_interval")
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
    with importance weights. An age that climbs by one each step and falls back says that engines
    get new weights only now and then; where the configuration asks for that, it is no finding.
    """
    bound = _bound(about)
    recent = _highest(age.value, RECENT)
    now, tooth = float(recent[-1]), _toothed(age.value)
    severity: Severity = "bad" if now > bad * bound else "watch"
    if tooth is not None and about.setting(*INTERVAL) in (None, 1):
        yield _old(age, tooth, f"Engines keep their weights: the age climbs to {now:.0f} and falls back.", severity, kl)
    elif len(recent) - last_stretch(recent > bound) >= PATIENCE:
        start = last_stretch(_highest(age.value, PAUSE) > bound)
        words = f"Up to {now:.0f} versions in the last ten steps, {bound:.0f} are the bound."
        yield _old(age, start, words, severity, kl)
    elif thrown is not None:
        yield from _thrown(thrown, watch)


def _highest(value: FloatArray, width: int) -> FloatArray:
    """The highest of the last points, at each point."""
    padded = np.concatenate([np.full(width - 1, -np.inf), value])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, width).max(axis=1), np.float64)


def _toothed(age: FloatArray) -> int | None:
    """Where the age began to climb step by step and fall back, if it still does so."""
    change = np.diff(age, prepend=age[0])
    climbs, falls = (_counted(which) for which in (np.abs(change - 1) < 0.25, change <= -2 + 0.25))
    points = np.minimum(np.arange(1, len(age) + 1), TEETH)
    teeth = (climbs >= CLIMBS * (points - 1)) & (falls >= FALLS) & (_highest(age, TEETH) >= TALL)
    start = last_stretch(_counted(teeth, PAUSE) > 0)
    return None if start == len(age) or not teeth[-PATIENCE:].any() else max(0, start - TEETH + 1)


def _counted(which: NDArray[np.bool_], width: int = TEETH) -> FloatArray:
    """How many of the last points are true, at each point."""
    total = np.cumsum(np.concatenate([np.zeros(width), which]))
    return np.asarray(total[width:] - total[:-width], np.float64)


def _old(age: Series, start: int, words: str, severity: Severity, kl: Series | None) -> Finding:
    drift = f" KL to the sampler reaches {kl.value[-20:].max():.3g}." if kl is not None and len(kl) else ""
    return Finding(
        step=int(age.step[start]),
        claim="Samples are too old",
        evidence=words + drift,
        severity=severity,
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
