"""How many steps of a run trained: an evaluation after the last update has a step of its own."""

from __future__ import annotations

import numpy as np

from rollscope.store import arrow
from rollscope.store.run import Run


def trained_steps(run: Run, reward: str, score: str) -> int:
    """The steps without those after the last reward that evaluated alone.

    `reward` and `score` name the run's headline and its evaluation, if it has them.
    """
    steps = run.steps()["step"]
    rewarded = run.series(reward)["step"] if reward else steps[:0]
    later = steps[steps > rewarded[-1]] if len(rewarded) else steps[:0]
    if not len(later):
        return len(steps)
    evaluated = arrow.numbers(run.rows_of_steps("evals", later.tolist())["step"])
    scored = run.series(score)["step"] if score else steps[:0]
    only_evaluated = np.isin(later, [*evaluated, *scored]).all()
    return len(steps) - (len(later) if only_evaluated else 0)
