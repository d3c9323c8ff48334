"""The tape: reward, dropped share, evaluations, notes and clocks over the whole run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.views import nullable
from rollscope.views.charts.clock import Clock, readings
from rollscope.views.charts.grid import grid_over
from rollscope.views.dictionary import Meaning, stored_meanings

from .headline import evaluation, headline
from .run_notes import NoteShape, run_notes

POINTS = 480
MOST_EVALS = 400  # newest evaluations that are marked
DROPPED = ("discarded/share", "group/zero_spread")  # the first that the run has
CLOCKS: tuple[Clock, ...] = ("time", "relative", "tokens", "samples")


class EvalMark(TypedDict):
    step: int
    set: str


class TapeSeries(TypedDict):
    """The tape without findings. x is the step; clocks translate a step to the other axes."""

    first: int
    last: int
    planned: int | None
    headline: str
    x: list[float]
    reward: list[float | None]
    dropped: list[float | None]
    evals: list[EvalMark]
    notes: list[NoteShape]
    clocks: dict[str, list[float | None]]
    started: float


def tape(run: Run) -> TapeSeries:
    first, last = run.step_range
    meanings = stored_meanings(run)
    reward = headline(run, meanings)
    dropped = next((meanings[name].logged for name in DROPPED if name in meanings), "")
    grid = grid_over([(first, last)], "step", POINTS)
    names = sorted({name for name in (reward, dropped) if name})
    columns = run.buckets(names, grid.lo, grid.hi, grid.count) if names else {}
    series = {name: nullable.finite(columns["mean"][i]) for i, name in enumerate(names)}
    return {
        "first": first,
        "last": last,
        "planned": run.facts.get("steps_planned"),
        "headline": reward,
        "x": grid.centres.tolist(),
        "reward": series.get(reward, []),
        "dropped": series.get(dropped, []),
        "evals": _evals(run, meanings),
        "notes": [note for note in run_notes(run) if note["kind"] == "note"],
        "clocks": _clocks(run),
        "started": float(run.facts.get("started_ns") or 0) / 1e9,
    }


def _evals(run: Run, meanings: Mapping[str, Meaning]) -> list[EvalMark]:
    name = evaluation(meanings)
    steps = run.series(name)["step"][-MOST_EVALS:] if name else ()
    return [{"step": int(step), "set": name} for step in steps]


def _clocks(run: Run) -> dict[str, list[float | None]]:
    """At most POINTS steps with their readings on every clock. The page interpolates."""
    steps = run.steps()["step"]
    if not len(steps):
        return {"step": []}
    pick = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), POINTS)).astype(int))
    columns = {clock: readings(run, clock) for clock in CLOCKS}
    return {
        "step": [float(step) for step in steps[pick]],
        **{clock: nullable.finite(column[pick]) for clock, column in columns.items() if np.isfinite(column).any()},
    }
