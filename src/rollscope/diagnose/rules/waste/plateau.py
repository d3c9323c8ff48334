"""A run that finished long ago and goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.trend import Trend, blocks, trend
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun, Evaluations
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.rule import Series, rule

LEAST = 100  # points
RECENT = 0.35
WIDTH = 20  # blocks of the run


@rule("plateau", needs=(REWARD, AboutRun()), optional=(Evaluations(6),))
def plateau(
    reward: Series, about: About, evaluations: Sequence[Evaluation] | None = None, *, behind: float = 0.3
) -> Iterator[Finding]:
    """The run has finished: a third of it is flat, and its best lies far behind.

    The last steps bought nothing. Go back to the best checkpoint, and change something before you
    spend more: harder prompts, more exploration, another reward. A run that is still early in its
    plan may only be slow.
    """
    if len(reward) < LEAST or (about.planned and about.last_step < 0.3 * about.planned):
        return
    held_out = [e.series for e in evaluations or () if len(e.series) >= 8 and "reward" not in e.score.lower()]
    if any(not _flat(series) for series in held_out) or not _flat(reward):
        return
    best = _best(reward)
    past = (reward.step[-1] - best) / max(1, reward.step[-1] - reward.step[0])
    gained = float(np.median(reward.value[-LEAST // 4 :])) - float(np.median(reward.value[: LEAST // 4]))
    if past < behind or abs(gained) < 0.02 * max(1.0, abs(float(np.median(reward.value)))):
        return
    yield Finding(
        step=best,
        claim="Nothing has been gained for a long time",
        evidence=f"Reward is flat over the last {100 * RECENT:.0f} % of the run; its best lies at step {best:,} "
        f"of {int(reward.step[-1]):,}.",
        severity="watch",
        metrics=(reward.name, *(series.name for series in held_out[:1])),
        check=("The prompts that are never solved", "Entropy and the share of groups without spread"),
        advice=(Advice("Stop, or go back to the best checkpoint with harder prompts or more exploration", "rldoctor"),),
    )


def _flat(series: Series) -> bool:
    recent = series.value[-max(5, int(len(series) * RECENT)) :]
    seen: Trend = trend(recent)
    whole = float(np.ptp(blocks(series.value, WIDTH)))
    return not seen.rises or abs(seen.change) < 0.05 * whole


def _best(reward: Series) -> int:
    """The first step at which the smoothed reward is about as good as it ever gets."""
    smooth = blocks(reward.value, WIDTH)
    near = smooth >= smooth.max() - 0.05 * max(float(np.ptp(smooth)), 1e-12)
    return int(reward.step[int(np.argmax(near) * len(reward) / len(smooth))])
