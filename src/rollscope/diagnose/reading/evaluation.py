"""Evaluations as rules read them: the score of a set over steps, and of its tasks where known."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.diagnose.curves.series import Series
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning

SCORE = re.compile(r"(eval|val-core|bench)/(?P<set>.+?)/(?P<score>[^/]+)/mean@\d+")
NOT_A_SCORE = ("loss", "length", "tokens", "time", "seconds", "runtime", "entropy", "kl", "std", "per_second", "ratio")
TRAINING_WORDS = ("reward", "accuracy", "acc", "score", "pass", "success", "solve", "win")
ByTask = dict[Any, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One score of one set. `tasks` has the mean of each task by step, where rows were logged."""

    set: str
    score: str
    series: Series
    tasks: Mapping[int, ByTask] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.set} {self.score}" if self.score else self.set

    def until(self, step: int | None) -> Evaluation:
        tasks = {at: values for at, values in self.tasks.items() if step is None or at <= step}
        return Evaluation(self.set, self.score, self.series.until(step), tasks)


def evaluations(run: Run, meanings: Iterable[Meaning], read: Any) -> list[Evaluation]:
    """The evaluations of a run: from its rows, else from series that are an evaluation's."""
    from_rows = list(_from_rows(run)) if run.has("evals") else []
    return from_rows or list(_from_series(meanings, read))


def _from_rows(run: Run) -> Iterator[Evaluation]:
    columns = run.evals()
    scores: dict[tuple[str, str], dict[int, dict[Any, list[float]]]] = defaultdict(dict)
    rows = zip(*(columns[name] for name in ("set", "step", "task", "scores", "failed")), strict=True)
    for number, (name, step, task, values, failed) in enumerate(rows):
        if failed is True or not isinstance(values, Mapping) or step is None or step != step:
            continue
        key = number if task is None else task
        for score, value in values.items():
            scores[str(name), str(score)].setdefault(int(step), {}).setdefault(key, []).append(float(value))
    for (name, score), by_step in sorted(scores.items(), key=lambda item: (item[0][0], _plain(item[0][1]))):
        tasks = {step: {task: float(np.mean(v)) for task, v in by_step[step].items()} for step in sorted(by_step)}
        means = [float(np.mean([*of_task.values()])) for of_task in tasks.values()]
        yield Evaluation(name, score, Series.of(means, f"eval/{name}/{score}", [*tasks]), tasks)


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
    is_evaluation = m.evaluation or name.startswith(("eval/", "eval_", "val/", "test/", "validation/", "val-core/"))
    last = name.rsplit("/", 2)
    words = " ".join(last)
    return (
        is_evaluation
        and not any(word in words for word in NOT_A_SCORE)
        and any(word in words for word in TRAINING_WORDS)
    )
