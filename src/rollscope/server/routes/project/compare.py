"""Runs compared: the sentence and what differs, curves of groups, factors, the same tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from rollscope.errors import BadInput, RollscopeError
from rollscope.server.deps import Lib
from rollscope.server.library import Library
from rollscope.server.reply import json_reply
from rollscope.store.run import Run
from rollscope.views.charts.grid import grid_over, range_of_run
from rollscope.views.compare import sentence
from rollscope.views.compare.ablation import ablation_of
from rollscope.views.compare.arranged import arranged
from rollscope.views.compare.comparison import measure, reward_of
from rollscope.views.compare.curves import (
    POINTS,
    counting,
    curve,
    meanings,
    parting,
    values_of,
)
from rollscope.views.compare.outcome import common_step, end_of, on_evals, score_of
from rollscope.views.compare.partings import Parting
from rollscope.views.compare.replicas import Group, Record, groups, noise_of
from rollscope.views.compare.shapes import (
    ComparisonShape,
    FactorList,
    NoiseShape,
    SolvedShape,
    differing,
    factor_shape,
    metric_shape,
    outcome_shape,
)
from rollscope.views.compare.tasks import solved, solved_shares, trained_shares
from rollscope.views.configuration import factors as settings_of
from rollscope.views.evals.sets import sets
from rollscope.views.evals.task_scores import task_scores

router = APIRouter(tags=["compare"])
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_METRICS = 400  # of A and B that are looked at for where they part
MOST_FACTOR_RUNS = 120
Runs = Annotated[list[str], Query(alias="run", min_length=1, max_length=128, description="ids; the first is A")]
By = Annotated[str, Query(max_length=400, description="'' by configuration, `alone`, or a setting")]
On = Annotated[str, Query(max_length=1000, description="a metric by our name, or an evaluation set")]
SetName = Annotated[str, Query(alias="set", max_length=1000, description="empty: the prompts of training")]


@contextmanager
def _open(library: Library, ids: Sequence[str]) -> Iterator[dict[str, Run]]:
    """Several runs at once, always locked in one order, so that two requests cannot wait for
    each other.
    """
    with ExitStack() as stack:
        yield {id: stack.enter_context(library.reading(id)) for id in sorted(set(ids))}


def _records(library: Library, ids: Sequence[str]) -> list[Record]:
    """The runs of the first run's project."""
    every = library.store().runs()
    project = next((record["project"] for record in every if record["id"] == ids[0]), None)
    return [record for record in every if record["project"] == project or record["id"] in ids]


@router.get("/compare", response_model=ComparisonShape)
def show(library: Lib, runs: Runs, by: By = "") -> Response:
    """What differs, who is better with what certainty, and where the first two groups part."""
    records = _records(library, runs)
    arrangement = arranged(runs, records, by)
    if len(arrangement) < 2:
        raise BadInput("there is only one run to compare; name two or more")
    names = {str(record["id"]): str(record.get("name") or record["id"]) for record in records}
    with _open(library, [id for ids in arrangement[: len(LETTERS)] for id in ids]) as opened:
        found = [Group(tuple(opened[id] for id in ids)) for ids in arrangement[: len(LETTERS)]]
        a, b = found[:2]
        outcomes = on_evals(a, b)
        metrics = _partings(a, b)
        differs, equal, files = differing([group.runs[0] for group in found])
        others = [
            (letter, o) for letter, group in zip(LETTERS[2:], found[2:], strict=False) for o in on_evals(a, group)[:1]
        ]
        known = sorted(set.intersection(*(set(sets(group.runs[0])) for group in found)))
    claim, certainty, but = sentence.claims(outcomes)
    shown = [("B", o) for o in outcomes] + others
    return json_reply(
        {
            "groups": [
                {"letter": letter, "name": names.get(ids[0], ids[0]), "runs": list(ids)}
                for letter, ids in zip(LETTERS, arrangement, strict=False)
            ],
            "claim": claim,
            "certainty": certainty,
            "but": but,
            "parting": sentence.parting(metrics),
            "measured": measure(outcomes, reward_of(p.metric for p in metrics))[0],
            "differs": differs,
            "equal": equal,
            "files": files,
            "metrics": [*map(metric_shape, metrics)],
            "outcomes": [outcome_shape(letter, o) for letter, o in shown],
            "settings": _groupings(runs, records),
            "sets": known,
        }
    )


@router.get("/compare/noise", response_model=NoiseShape)
def noise(library: Lib, runs: Runs, on: On, by: By = "") -> Response:
    """How far repeats of one configuration are apart in a metric or set, over the project.

    It may open many runs, one at a time, so the page asks for it last.
    """
    records = _records(library, runs)
    a, b = _two(arranged(runs, records, by))

    def value_of(id: str) -> float:
        with library.reading(id) as run:
            return run.remember(f"end of {on}", lambda: score_of(run, on) if on in sets(run) else end_of(run, on))

    return json_reply({"says": sentence.floor(noise_of(groups(records), value_of), on, len(a), len(b))})


def _groupings(ids: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Settings that differ between the runs that were asked for."""
    configs = [settings_of(r["config"]) for r in records if r["id"] in ids and isinstance(r.get("config"), dict)]
    keys = sorted({key for config in configs for key in config})
    return [key for key in keys if len({str(config.get(key)) for config in configs}) > 1][:50]


def _partings(a: Group, b: Group) -> list[Parting]:
    """Every metric that all runs of both have, those that part first on top."""
    runs = [*a.runs, *b.runs]
    names = sorted(set.intersection(*(set(meanings(run)) for run in runs)))[:MOST_METRICS]
    grid = grid_over([pair for run in runs if (pair := range_of_run(run, "step", None, None, 0))], "step", POINTS)
    values = [np.stack([values_of(run, names, "step", grid) for run in group.runs]) for group in (a, b)]
    counts = [counting([run.step_range[1] for run in group.runs]) for group in (a, b)]
    curves = [tuple(curve(v[:, i], c) for v, c in zip(values, counts, strict=True)) for i in range(len(names))]
    found = [parting(name, grid.centres, *pair) for name, pair in zip(names, curves, strict=True)]
    known = [p for p in found if p.steps or not np.isnan(p.last[0])]
    return sorted(known, key=lambda p: (p.step is None, np.isnan(p.distance), p.step or 0, -p.distance, p.metric))


@router.get("/compare/factors", response_model=FactorList)
def factors(library: Lib, runs: Runs, on: On) -> Response:
    """The effect of every setting that differs in the project on a metric or evaluation set."""
    records = [record for record in _records(library, runs) if record.get("state") != "running"][:MOST_FACTOR_RUNS]
    scored: list[tuple[Record, float]] = []
    graded = True
    for record in records:
        try:
            with library.reading(str(record["id"])) as run:
                is_set = on in sets(run)
                graded &= is_set and task_scores(sets(run)[on]).is_graded
                scored.append((record, score_of(run, on) if is_set else end_of(run, on)))
        except RollscopeError:
            continue  # a run that cannot be read has no value
    known = [(record, value) for record, value in scored if value == value]
    found = ablation_of([(record.get("config") or {}, value) for record, value in known])
    says = "" if found else f"No setting differs between runs of this project that have {on}."
    shapes = [factor_shape(effect) for effect in found]
    return json_reply({"on": on, "graded": graded and bool(known), "runs": len(known), "says": says, "factors": shapes})


@router.get("/compare/tasks", response_model=SolvedShape)
def tasks(library: Lib, runs: Runs, name: SetName = "", by: By = "") -> Response:
    """The tasks of an evaluation set, by which of the first two groups solved them.

    Without a set: the prompts of training, solved when they were last tried.
    """
    a, b = _two(arranged(runs, _records(library, runs), by))
    with _open(library, [*a, *b]) as opened:
        step = common_step([opened[id] for id in (*a, *b)], name) if name else None
        shares = [
            [solved_shares(opened[id], name, step) if name else trained_shares(opened[id]) for id in ids]
            for ids in (a, b)
        ]
    found = solved(*shares)
    lists = {key: list(getattr(found, key)) for key in ("both", "only_a", "only_b", "neither")}
    return json_reply({"set": name, "step": step, **lists})


def _two(arrangement: list[tuple[str, ...]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(arrangement) < 2:
        raise BadInput("there is only one run to compare; name two or more")
    return arrangement[0], arrangement[1]
