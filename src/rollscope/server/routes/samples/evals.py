"""Evaluations of a run: its sets, two steps paired, the table of tasks by steps, one task."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from rollscope.errors import BadInput
from rollscope.server import packed
from rollscope.server.deps import Lib, RunId
from rollscope.server.reply import json_reply
from rollscope.store.run import Run
from rollscope.views.evals.environments import plays
from rollscope.views.evals.overlap import overlap
from rollscope.views.evals.sets import sets
from rollscope.views.evals.shapes import (
    OverlapShape,
    PairShape,
    SetList,
    TaskShape,
    labels,
    pair_shape,
    set_shape,
    task_shape,
)
from rollscope.views.evals.table import task_lines
from rollscope.views.evals.task_scores import TaskScores, task_scores

router = APIRouter(tags=["evals"])
Name = Annotated[str, Query(alias="set", max_length=1000)]
Score = Annotated[str, Query(max_length=1000, description="empty: the first score of the set")]
Env = Annotated[str, Query(max_length=1000, description="only sets that play in this environment")]
Step = Annotated[int, Query(ge=-(2**53), le=2**53)]
Margin = Annotated[float, Query(ge=0, le=1e9, description="a difference that would not matter; 0: none")]


def _scores(reader: Run, name: str, score: str) -> TaskScores:
    known = sets(reader)
    if name not in known:
        raise BadInput(f"no evaluation set {name!r} in this run: it has {', '.join(known) or 'none'}")
    return task_scores(known[name], score or None)


@router.get("/runs/{run}/evals", response_model=SetList)
def index(library: Lib, run: RunId, env: Env = "") -> Response:
    """Every evaluation set, with its first score over steps and the interval by task."""
    with library.reading(run) as reader:
        shown = [evals for name, evals in sets(reader).items() if plays(reader, name, env)]
        return json_reply({"sets": [set_shape(evals) for evals in shown]})


@router.get("/runs/{run}/evals/set", response_model=SetList)
def one_set(library: Lib, run: RunId, name: Name, score: Score = "") -> Response:
    """One set with another score."""
    with library.reading(run) as reader:
        scores = _scores(reader, name, score)
        return json_reply({"sets": [set_shape(scores.set, scores.score)]})


@router.get("/runs/{run}/evals/pair", response_model=PairShape)
def pair(
    library: Lib, run: RunId, name: Name, before: Step, after: Step, score: Score = "", margin: Margin = 0.0
) -> Response:
    """Two evaluations of a set over the same tasks: difference, interval, p, and what flipped."""
    with library.reading(run) as reader:
        return json_reply(pair_shape(_scores(reader, name, score), before, after, margin))


@router.get("/runs/{run}/evals/matrix")
def matrix(library: Lib, run: RunId, name: Name, score: Score = "") -> Response:
    """Tasks by steps, as packed columns: the mean score, and how many repeats failed."""
    with library.reading(run) as reader:
        scores = _scores(reader, name, score)
        evals = scores.set
        head = {
            "tasks": list(evals.tasks),
            "labels": labels(reader, evals),
            "tags": [list(words) for words in evals.tags],
            "steps": [int(step) for step in evals.steps],
            "graded": scores.is_graded,
        }
    columns: packed.Packed = {
        "mean": scores.mean.astype(np.float32),
        "failed": np.minimum(scores.failed, 255).astype(np.uint8),
    }
    return packed.reply(head, columns)


@router.get("/runs/{run}/evals/overlap", response_model=OverlapShape)
def trained_on(library: Lib, run: RunId, name: Name) -> Response:
    """Tasks of a set whose prompts training has seen, word for word or nearly."""
    with library.reading(run) as reader:
        evals = _scores(reader, name, "").set
        found = reader.remember(f"overlap {name}", lambda: overlap(reader, evals))
    samples = {task: {"sample": one.sample, "step": one.step} for task, one in found.samples.items()}
    lists = {"exact": list(found.exact), "near": list(found.near)}
    return json_reply({**lists, "prompts": found.prompts, "samples": samples})


@router.get("/runs/{run}/evals/task", response_model=TaskShape)
def task(
    library: Lib, run: RunId, name: Name, task: Annotated[str, Query(max_length=4000)], score: Score = ""
) -> Response:
    """Every repeat of one task at every step."""
    with library.reading(run) as reader:
        found = task_shape(_scores(reader, name, score), task)
    if found is None:
        raise BadInput(f"set {name!r} has no task {task!r}")
    return json_reply(found)


@router.get("/runs/{run}/evals/tasks")
def table(library: Lib, run: RunId, name: Name, before: Step, after: Step, score: Score = "") -> Response:
    """A CSV file: each task at two steps, the change, and what happened to it."""
    with library.reading(run) as reader:
        lines = task_lines(_scores(reader, name, score), before, after)
    headers = {"content-disposition": 'attachment; filename="tasks.csv"', "cache-control": "no-store"}
    return Response("".join(lines), media_type="text/csv; charset=utf-8", headers=headers)
