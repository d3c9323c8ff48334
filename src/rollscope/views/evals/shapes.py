"""Evaluations as the page asks for them: the sets, two steps paired, one task."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import TypedDict

from rollscope.store.run import Run
from rollscope.strict_json import Number, number

from .history import history, pass_at_k
from .pairing import Pairing, Side, pair
from .sets import EvalSet
from .task_scores import TaskScores, task_scores

MOST_LABELS = 5_000  # tasks whose prompt is read for the page
LABEL = 160  # characters of a prompt that name a task


class SetShape(TypedDict):
    """A set with one score over steps; lists have one entry per evaluation."""

    name: str
    scores: list[str]
    score: str
    tasks: int
    repeats: int
    steps: list[int]
    mean: list[Number]
    low: list[Number]
    high: list[Number]
    failed: list[int]
    best: int | None
    detectable: Number
    change: Number  # newest against the one before, paired; null with one evaluation
    significant: bool


class SetList(TypedDict):
    sets: list[SetShape]


class PairShape(TypedDict):
    """Two evaluations of a set: the difference, and task ids by what happened to them."""

    before: int
    after: int
    difference: Number
    low: Number
    high: Number
    p: Number
    n: int
    method: str
    margin: Number  # null: none was given
    p_equivalent: Number  # that the two differ by less than the margin
    kinds: dict[str, list[str]]
    pass_before: list[Number]
    pass_after: list[Number]


class RepeatShape(TypedDict):
    """One repeat of a task."""

    step: int
    repeat: int
    score: Number
    failed: bool
    answer: str | None
    sample: str | None


class TrainedShape(TypedDict):
    """A sample of training with the prompt of a task."""

    sample: str
    step: int


class OverlapShape(TypedDict):
    """Tasks that training has seen, and how many prompts of training were read."""

    exact: list[str]
    near: list[str]
    prompts: int
    samples: dict[str, TrainedShape]  # of each of these tasks


class TaskShape(TypedDict):
    """A task, and everything that was recorded of it."""

    task: str
    cluster: str | None
    tags: list[str]
    repeats: list[RepeatShape]


def set_shape(evals: EvalSet, score: str | None = None) -> SetShape:
    scores = task_scores(evals, score)
    past = history(scores)
    newest = _newest(scores)
    return {
        "name": evals.name,
        "scores": list(evals.scores),
        "score": scores.score,
        "tasks": len(evals.tasks),
        "repeats": int((scores.repeats + scores.failed).max(initial=0)),
        "steps": [int(step) for step in past.steps],
        "mean": numbers(past.mean),
        "low": numbers(past.low),
        "high": numbers(past.high),
        "failed": [int(count) for count in past.failed],
        "best": past.best,
        "detectable": finite(past.detectable),
        "change": None if newest is None else finite(newest.result.difference),
        "significant": newest is not None and newest.result.p <= 0.05,
    }


def numbers(values: Any) -> list[Number]:
    return [finite(value) for value in values]


def finite(value: float) -> Number:
    """No data is null on the wire."""
    return number(value) if np.isfinite(value) else None


def _newest(scores: TaskScores) -> Pairing | None:
    steps = scores.set.steps
    return None if len(steps) < 2 else pair(Side(scores, int(steps[-2])), Side(scores, int(steps[-1])))


def pair_shape(scores: TaskScores, before: int, after: int, margin: float = 0.0) -> PairShape:
    """Two steps of one run; with a margin, whether they are equal within it."""
    pairing = pair(Side(scores, before), Side(scores, after))
    r = pairing.result
    return {
        "before": before,
        "after": after,
        "difference": finite(r.difference),
        "low": finite(r.low),
        "high": finite(r.high),
        "p": finite(r.p),
        "n": r.n,
        "method": r.method,
        "margin": margin or None,
        "p_equivalent": finite(pairing.equivalent(margin)) if margin and r.n else None,
        "kinds": {kind: list(tasks) for kind, tasks in pairing.kinds.items()},
        "pass_before": [*pass_at_k(scores, before).values()],
        "pass_after": [*pass_at_k(scores, after).values()],
    }


def task_shape(scores: TaskScores, task: str) -> TaskShape | None:
    """Everything of one task; None if the set does not have it."""
    evals = scores.set
    if task not in evals.tasks:
        return None
    index = evals.tasks.index(task)
    rows = np.flatnonzero(evals.task == index)
    value = evals.values.get(scores.score, np.full(len(evals.task), np.nan))
    repeats = [_repeat(evals, int(row), float(value[row])) for row in rows]
    cluster = None if evals.clusters is None else evals.clusters[index]
    ordered = sorted(repeats, key=lambda r: (r["step"], r["repeat"]))
    return {"task": task, "cluster": cluster, "tags": list(evals.tags[index]), "repeats": ordered}


def _repeat(evals: EvalSet, row: int, value: float) -> RepeatShape:
    answer, sample = evals.answer[row], evals.sample[row]
    return {
        "step": int(evals.steps[evals.at[row]]),
        "repeat": int(evals.repeat[row]),
        "score": finite(value),
        "failed": bool(evals.failed[row]),
        "answer": None if answer is None else str(answer),
        "sample": None if sample is None else str(sample),
    }


def labels(run: Run, evals: EvalSet) -> list[str]:
    """The beginning of each task's prompt, where a sample has one that is not the task's id."""
    first = dict(list(evals.samples().items())[:MOST_LABELS])
    if not first:
        return [""] * len(evals.tasks)
    rows = run.samples(ids=list(first.values()), columns=["id", "prompt"])
    texts = dict(zip(rows["id"], rows["prompt"], strict=True))
    lines = [_line(texts.get(first.get(task, ""))) for task in range(len(evals.tasks))]
    return ["" if line == task else line for line, task in zip(lines, evals.tasks, strict=True)]


def _line(text: Any) -> str:
    return " ".join(str(text)[: 4 * LABEL].split())[:LABEL] if text else ""
