"""A run that says nothing for far longer than its own steps take."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Advice, Finding, SpanAt
from rollscope.diagnose.needs import AboutRun, CaseOf
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.known import STEP_SECONDS
from rollscope.diagnose.rule import Series, rule
from rollscope.views.answers.signs import silent

NAMED = 2  # spans and lanes that the evidence names


@rule("stalled", needs=(AboutRun(), STEP_SECONDS), optional=(CaseOf(),))
def stalled(
    about: About, seconds: Series, case: Case | None = None, *, times: float = 6.0, least: float = 1800.0
) -> Iterator[Finding]:
    """The run is silent: nothing was logged for many times as long as a step takes.

    A worker hangs, a sandbox never answers, a collective waits for a rank that is gone. A long
    evaluation or checkpoint is quiet too, so at least half an hour must pass. The spans that are
    under way say who is waited for, the last ones who was at work.
    """
    if about.state != "running" or len(seconds) < 3:
        return
    usual = float(np.median(seconds.value))
    if about.silent_seconds <= max(times * usual, least):
        return
    yield Finding(
        step=about.last_step,
        claim="The run is silent",
        evidence=f"Nothing was logged for {about.silent_seconds / 60:.0f} minutes; a step takes {usual:.3g} s."
        + _under_way(case)
        + _silent_lanes(case),
        severity="bad",
        metrics=(seconds.name,),
        check=("The last spans, and their lanes", "py-spy dump on the process of that lane"),
        advice=(Advice("Bound every wait: requests, sandboxes, collectives", "miles#2027"),),
        spans=tuple(_last_spans(case)),
    )


def _under_way(case: Case | None) -> str:
    """The spans that have begun and not ended, the oldest first."""
    if case is None:
        return ""
    spans = sorted((one for one in case.run.open_spans() if one["alive"]), key=lambda one: int(one["start_ns"]))[:NAMED]
    now = time.time_ns()
    said = [f"{one['name']} on {one['lane']} for {(now - one['start_ns']) / 60e9:.0f} minutes" for one in spans]
    return f" Under way: {' and '.join(said)}." if said else ""


def _silent_lanes(case: Case | None) -> str:
    """The lanes that have been silent longest, against their own pauses."""
    if case is None or not case.run.has("spans"):
        return ""
    lanes = [f"{one.lane} ended {one.last} {one.seconds / 60:.0f} minutes ago" for one in silent(case.run)[:NAMED]]
    return f" {' and '.join(lanes)}." if lanes else ""


def _last_spans(case: Case | None) -> Iterator[SpanAt]:
    if case is None or not case.run.has("spans"):
        return
    end = case.run.time_range[1] or 0
    spans = case.run.spans(lo_ns=end - 120_000_000_000)
    for i in np.argsort(spans["end_ns"])[::-1][:5].tolist():
        yield SpanAt(str(spans["lane"][i]), str(spans["name"][i]), int(spans["start_ns"][i]), int(spans["end_ns"][i]))
