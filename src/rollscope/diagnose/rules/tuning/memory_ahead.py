"""Memory that will not last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.trend import blocks, trend
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun, HostOf
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.case import Gauge
from rollscope.diagnose.rule import rule

LEAST = 30


@rule("memory-ahead", needs=(HostOf("memory_share"), AboutRun()))
def memory_ahead(gauges: Sequence[Gauge], about: About, *, full: float = 0.97, soon: float = 0.5) -> Iterator[Finding]:
    """Memory grows and will run out before the run ends, if it goes on like this.

    The peak is projected along its robust slope. An allocator that holds nearly everything from the
    start is no leak: it does not grow. Look for caches that are never emptied, logs kept in lists,
    and fragmentation.
    """
    for gauge in gauges:
        value = gauge.value / 100.0 if len(gauge.value) and gauge.value.max() > 1.5 else gauge.value
        if len(value) < LEAST or not about.planned or about.last_step < 5:
            continue
        seen = trend(blocks(value))
        now = float(np.median(value[-5:]))
        ahead = (about.planned - about.last_step) / about.last_step
        at_end = now + seen.change * ahead
        if not seen.rises or seen.change < 0.05 or at_end < full or now < soon:
            continue
        left = int((full - now) / seen.change * about.last_step)
        yield Finding(
            step=about.last_step,
            claim="Memory will run out before the run ends",
            evidence=f"{gauge.device}: {100 * now:.0f} % used, {100 * seen.change:+.0f} % since the start; "
            f"full in about {left:,} steps, {about.planned - about.last_step:,} are planned.",
            severity="watch",
            metrics=("host/memory_share",),
            check=("Which process grows", "Reserved against allocated: the gap is fragmentation"),
            advice=(Advice("Fewer tokens per micro-batch, logits in chunks, a lower length limit", "NeMo-RL#2319"),),
        )
        return
