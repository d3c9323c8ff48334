"""Steps that became slower, beyond what longer answers explain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.ratio import ratio
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.known import LENGTH, STEP_SECONDS
from rollscope.diagnose.rule import Series, rule

PATIENCE = 10
WIDTH = 9  # steps whose median is the level


@rule("slower", needs=(STEP_SECONDS, CaseOf()), optional=(LENGTH,), order="waste")
def slower(
    step: Series, case: Case, length: Series | None = None, *, times: float = 1.3, sigmas: float = 6.0
) -> Iterator[Finding]:
    """Steps take longer than at the opening, and longer answers do not explain it.

    Seconds are first divided by the length of answers. What remains is a slower disk, engine,
    tool or neighbour, a leak, or a cache that no longer helps. The finding names the phases that
    grew, in the order in which they began.
    """
    per_token = ratio(step, length) if length is not None else step
    first = opening(per_token)
    if first is None or len(per_token) < 40:
        return
    now = level(per_token.value, WIDTH)
    error = 1.25 * first.noise / WIDTH**0.5  # of a median
    slow = (now > times * first.level) & (now - first.level > sigmas * error)
    start = last_stretch(slow)
    if len(now) - start < PATIENCE:
        return
    grown = float(now[-1] / first.level)
    phases = _grown_phases(case)
    yield Finding(
        step=int(per_token.step[start]),
        claim="Steps became slower",
        evidence=f"{100 * (grown - 1):.0f} % more seconds per {'token of an answer' if length is not None else 'step'} "
        f"than at the opening." + (f" Grown: {', '.join(phases)}." if phases else ""),
        severity="watch",
        metrics=(step.name, *phases[:3]),
        check=("The phases that grew, the earliest first", "Host: memory, disk, processor of others"),
        advice=(Advice("Compare a step of the opening with one of now on the timeline", "rl-insight"),),
    )


def _grown_phases(case: Case) -> list[str]:
    """Time metrics that grew by half, the one that began first first."""
    found = []
    for name, series in case.like("time/").items():
        first = opening(series)
        if first is None or name in STEP_SECONDS or first.level < 0.01 or "microbatch" in name:
            continue
        now = level(series.value, WIDTH)
        start = last_stretch(now > 1.5 * first.level)
        if len(now) - start >= PATIENCE:
            found.append((int(series.step[start]), -float(np.median(series.value[-10:])), series.name))
    return [name for _, _, name in sorted(found)][:4]
