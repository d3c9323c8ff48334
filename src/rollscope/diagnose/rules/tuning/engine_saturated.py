"""An inference engine at its limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.rule import Series, rule

LEAST = 5


@rule(
    "engine-saturated",
    needs=("engine/kv_cache_used",),
    optional=("engine/requests_waiting", "engine/requests_running", "engine/preemptions"),
)
def engine_saturated(
    cache: Series,
    waiting: Series | None = None,
    running: Series | None = None,
    preempted: Series | None = None,
    *,
    watch: float = 0.95,
) -> Iterator[Finding]:
    """The engine's cache is full: requests wait or are thrown out and computed again.

    More memory for the cache, shorter answers, or fewer requests at once make it faster. A full
    cache without anything waiting is only well used.
    """
    if len(cache) < LEAST:
        return
    now = float(np.median(cache.value[-LEAST:]))
    queue = float(np.median(waiting.value[-LEAST:])) if waiting is not None and len(waiting) else 0.0
    lost = float(np.sum(np.diff(preempted.value[-LEAST:]))) if preempted is not None and len(preempted) > 1 else 0.0
    if now < watch or (queue <= 0 and lost <= 0):
        return
    yield Finding(
        step=int(cache.step[-LEAST]),
        claim="The engine's cache is full",
        evidence=f"{100 * now:.0f} % of it is used; {queue:.0f} requests wait.",
        severity="info",
        metrics=(cache.name, "engine/requests_waiting", "engine/preemptions"),
        check=("Requests at once against the size of the cache", "Are prompts shared, and does the prefix cache hit?"),
        advice=(Advice("Raise the engine's memory share, or send fewer requests at once", "miles advisory.py"),),
    )
