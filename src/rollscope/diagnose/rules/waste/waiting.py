"""The trainer waits for data: one side of the machine starves the other."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.ratio import ratio
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import MOST_SHOWN, Advice, Cost, Finding, SpanAt
from rollscope.diagnose.needs import CaseOf
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.known import STEP_SECONDS
from rollscope.diagnose.rule import FloatArray, Series, rule
from rollscope.errors import NotFound
from rollscope.views.answers.signs import starved
from rollscope.views.timeline.waits import Wait
from rollscope.views.timeline.waits import trainer_waits as waits_of
from rollscope.views.timeline.window import batches_of, rows_around, window

PATIENCE = 6
RECENT = 10  # steps whose spans are read
LOOK = 15  # steps in which the generations of the lanes are counted
ROLLOUT = ("inference", "engine", "rollout", "worker")
WAIT = ("time/waiting_for_data", "time/wait_rollout")


@rule("trainer-waits", needs=(WAIT, STEP_SECONDS, CaseOf()), optional=(("staleness/max", "staleness/generated/max"),))
def trainer_waits(
    wait: Series, step: Series, case: Case, stale: Series | None = None, *, watch: float = 0.25, bad: float = 0.6
) -> Iterator[Finding]:
    """The trainer waits for samples: a large part of each step nothing is trained.

    Rollouts are the bottleneck: too few engines, a slow worker, a tool or a grader that everything
    waits for, or a long tail of answers. A run that samples and trains in turns waits by design,
    and is no case for this. If the wait began at some step, look at what slowed down then.
    """
    share = ratio(wait, step)
    if len(share) < 2 * PATIENCE or stale is None or float(stale.value.max()) == 0:
        return
    now = level(np.minimum(share.value, 1.0), 5)
    start = _since(now, watch)
    if len(now) - start < PATIENCE:
        return
    slow = slow_lane(case)
    first = float(np.median(wait.value[1 : min(16, len(wait) // 3) + 1]))
    seconds = float(np.median(wait.value[-10:]))
    if not (slow or seconds > 3 * first):
        return
    last, waits = float(now[-1]), _longest_waits(case, int(share.step[-1]))
    yield Finding(
        step=int(share.step[start]),
        claim="The trainer waits for samples" + (f": {slow} is slow" if slow else ""),
        evidence=f"{100 * last:.0f} % of a step is waiting: {seconds:.2g} s, {first:.2g} s at the opening."
        + _other_side(case, int(share.step[-1]))
        + "".join(f" {wait.says}" for wait in waits[:1]),
        severity="bad" if last >= bad else "watch",
        metrics=(wait.name, step.name, "time/generate", "sample_time/generate/max"),
        check=("The lane that does the least work", "Tools and graders: sample_time/tool, sample_time/reward"),
        advice=(
            Advice("Let rollouts run ahead, or move GPUs to them", "veRL's fully asynchronous guide, vime#358"),
            Advice("Give one slow worker less work, or replace it"),
        ),
        cost=Cost(last, why="share of the time in which the trainer waits"),
        spans=tuple(SpanAt(w.lane, w.reason, w.start, w.start + w.ns, int(share.step[-1])) for w in waits),
    )


def _since(now: FloatArray, watch: float) -> int:
    """Where the waiting began that lasts; a dip to half of the threshold is part of it."""
    if not len(now) or now[-1] <= watch:
        return len(now)
    start = last_stretch(now > watch / 2)
    return start + int(np.argmax(now[start:] > watch))


def slow_lane(case: Case) -> str:
    """The lane that did less than half as much generation as the busiest one, in the last steps.

    A lane that worked at the opening and does nothing now is the slowest of all.
    """
    if not case.run.has("spans"):
        return ""
    last = case.step if case.step is not None else int(case.run.last_step or 0)
    now = _generations(case, max(0, last - LOOK), last)
    counts = Counter(dict.fromkeys(_generations(case, 0, min(LOOK, last)), 0) | now).most_common()
    return counts[-1][0] if len(counts) >= 2 and counts[-1][1] < 0.5 * counts[0][1] and counts[0][1] >= 8 else ""


def _generations(case: Case, first: int, last: int) -> Counter[str]:
    """How many generations each lane of the rollouts finished in some steps."""
    rows = case.run.rows_of_steps("spans", list(range(first, last + 1)))
    pairs = zip(rows["name"].to_pylist(), rows["lane"].to_pylist(), strict=True)
    lanes = [lane for name, lane in pairs if lane and name and "generate" in name and lane.startswith(ROLLOUT)]
    return Counter("/".join(lane.split("/")[:2]) for lane in lanes)


def _other_side(case: Case, last: int) -> str:
    """What the rollouts do meanwhile, from the spans of the last steps."""
    if not case.run.has("spans"):
        return ""
    side = starved(case.run, last - RECENT, last).inference
    return f" The rollouts wait {100 * side:.0f} % of it." if np.isfinite(side) else ""


def _longest_waits(case: Case, step: int) -> list[Wait]:
    """The waits of the trainer in a step, the longest first, each with what it waited for."""
    if not case.run.has("spans"):
        return []
    rows = rows_around(case.run, step)
    with contextlib.suppress(NotFound):  # no span of the trainer in this step
        found = waits_of(window(rows, step, batches_of(case.run, rows, [step])))
        return sorted(found, key=lambda wait: -wait.ns)[:MOST_SHOWN]
    return []
