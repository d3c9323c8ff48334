"""Evaluations as rules read them: the score of a set over steps, and of its tasks where known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.diagnose.curves.series import Series
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning
from rollscope.views.evals.sets import sets
from rollscope.views.evals.task_scores import TaskScores, task_scores

SCORE = re.compile(r"(eval|val-core|bench)/(?P<set>.+?)/(?P<score>[^/]+)/mean@\d+")
NOT_A_SCORE = ("loss", "length", "tokens", "time", "seconds", "runtime", "entropy", "kl", "std", "per_second", "ratio")
EVALUATION = ("eval/", "eval_", "val/", "test/", "validation/", "val-core/")  # how such names begin
TRAINING_WORDS = ("reward", "accuracy", "acc", "score", "pass", "success", "solve", "win")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One score of one set. `scores` has what each task scored, where rows were logged."""

    set: str
    score: str
    series: Series
    scores: TaskScores | None = None

    @property
    def name(self) -> str:
        return f"{self.set} {self.score}" if self.score else self.set

    def until(self, step: int | None) -> Evaluation:
        return Evaluation(self.set, self.score, self.series.until(step), self.scores)


def evaluations(run: Run, meanings: Iterable[Meaning], read: Any) -> list[Evaluation]:
    """The evaluations of a run: from its rows, else from series that are an evaluation's."""
    from_rows = list(_from_rows(run)) if run.has("evals") else []
    return from_rows or list(_from_series(meanings, read))


def _from_rows(run: Run) -> Iterator[Evaluation]:
    for name, rows in sets(run).items():
        for score in sorted(rows.scores, key=_plain):
            table = task_scores(rows, score)
            scored = np.isfinite(table.mean)
            known = scored.any(axis=0)
            means = np.where(scored, table.mean, 0.0).sum(axis=0)[known] / scored.sum(axis=0)[known]
            yield Evaluation(name, score, Series.of(means, f"eval/{name}/{score}", rows.steps[known]), table)


def _plain(score: str) -> tuple[bool, str]:
    """Accuracy before reward: the second is what training optimises."""
    return "reward" in score, score


def _from_series(meanings: Iterable[Meaning], read: Any) -> Iterator[Evaluation]:
    for m in meanings:
        name = m.logged.lower()
        if not (SCORE.fullmatch(m.name) or _looks_like_a_score(name, m)):
            continue
        series = read(m)
        if series is not None:
            yield Evaluation(m.logged, "", series)


def _looks_like_a_score(name: str, m: Meaning) -> bool:
    if not (m.evaluation or name.startswith(EVALUATION)):
        return False
    words = " ".join(name.rsplit("/", 2))
    return not any(word in words for word in NOT_A_SCORE) and any(word in words for word in TRAINING_WORDS)
