"""Curves of groups of runs: centre, band, each run, and the difference of the first two groups."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from rollscope.errors import BadInput
from rollscope.server.deps import Lib
from rollscope.server.library import Library
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.views.charts.clock import Clock
from rollscope.views.charts.grid import Grid, grid_over, range_of_run
from rollscope.views.charts.recent import Recent
from rollscope.views.compare.curves import POINTS, Curve, Floats, counting, curve, gap, noise_of_seeds, values_of
from rollscope.views.compare.gpu_hours import gpus_of, in_hours, in_seconds

router = APIRouter(tags=["compare"])
READERS = ThreadPoolExecutor(4, "rollscope-compare")
RECENT: Recent[Floats] = Recent(lambda values: values.nbytes, 32 << 20)
Axis = Clock | Literal["gpu"]  # GPU-hours: a run's GPUs times the hours since its start


class Ask(BaseModel):
    """Groups of runs, metrics by our names, and the axis."""

    model_config = ConfigDict(extra="forbid")
    groups: list[list[str]] = Field(min_length=1, max_length=26)
    names: list[str] = Field(max_length=100)
    x: Axis = "step"
    points: int = Field(POINTS, ge=2, le=1000)
    centre: Literal["mean", "iqm"] = "mean"


@router.post(
    "/compare/charts",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns of groups, runs and differences"}},
)
def charts(library: Lib, ask: Annotated[Ask, Body()]) -> Response:
    """Curves of groups: centre, band, each run, and the difference of the first two groups."""
    ids = [id for group in ask.groups for id in group]
    if not ids or len(ids) > 256:
        raise BadInput(f"{len(ids)} runs are asked for; 1 to 256 can be drawn together")
    ranges = dict(zip(ids, READERS.map(lambda id: _range(library, id, ask.x), ids), strict=True))
    grid = grid_over([pair for pair, _ in ranges.values() if pair is not None], _clock(ask.x), ask.points)
    last_first = ids[::-1]  # their readers are still open
    values = dict(zip(last_first, READERS.map(lambda id: _values(library, id, ask, grid), last_first), strict=True))
    stacked = [np.stack([values[id] for id in group]) for group in ask.groups if group]
    counts = [counting([ranges[id][1] for id in group]) for group in ask.groups if group]
    sides = list(zip(stacked, counts, strict=True))
    curves = [[curve(v[:, i], c, ask.centre == "iqm") for v, c in sides] for i in range(len(ask.names))]
    edge = 0.5 if ask.x == "step" else 0.0
    unknown = [id for id, (pair, _) in ranges.items() if pair is None]
    head = {"x": ask.x, "lo": grid.lo + edge, "hi": grid.hi - edge, "n": grid.count, "runs": ids, "unknown": unknown}
    metrics = [_metric(name, row) for name, row in zip(ask.names, curves, strict=True)]
    columns = {"x": grid.centres, **_columns(curves, grid), "runs": _single(values, ids)}
    return reply({**head, "groups": len(stacked), "metrics": metrics}, columns)


def _clock(axis: Axis) -> Clock:
    """The clock that an axis is read from."""
    return "relative" if axis == "gpu" else axis


def _range(library: Library, id: str, axis: Axis) -> tuple[tuple[float, float] | None, int]:
    """The range of a run on the axis, None where it has no readings of it, and its last step."""
    run = (library.path, library.allowed, id)
    low, high, last = RECENT.get(run, library.fingerprint(id), axis, lambda: _read_range(library, id, axis))
    return (None if np.isnan(low) else (float(low), float(high))), int(last)


def _read_range(library: Library, id: str, axis: Axis) -> Floats:
    with library.reading(id) as run:
        found, last = range_of_run(run, _clock(axis), None, None, 0), run.step_range[1]
        if axis == "gpu" and found is not None:
            gpus = gpus_of(run)
            found = None if gpus is None else in_hours(found, gpus)
        return np.array([*(found or (np.nan, np.nan)), last], np.float64)


def _values(library: Library, id: str, ask: Ask, grid: Grid) -> Floats:
    """Names by points. Kept until a file of the run changes: readers are fewer than runs may be."""
    run, key = (library.path, library.allowed, id), (ask.x, grid, tuple(ask.names))
    return RECENT.get(run, library.fingerprint(id), key, lambda: _read_values(library, id, ask, grid))


def _read_values(library: Library, id: str, ask: Ask, grid: Grid) -> Floats:
    with library.reading(id) as run:
        gpus = gpus_of(run) if ask.x == "gpu" else 1.0
        if gpus is None:
            return np.full((len(ask.names), grid.count), np.nan)
        return values_of(run, ask.names, _clock(ask.x), in_seconds(grid, gpus) if ask.x == "gpu" else grid)


def _metric(name: str, row: list[Curve]) -> dict[str, Any]:
    counted = [len(one.ends) for one in row]
    floor = noise_of_seeds(row).floor(*[max(1, n) for n in counted[:2]]) if len(row) > 1 else float("nan")
    return {"name": name, "counted": counted, "noise": None if np.isnan(floor) else float(floor)}


def _columns(curves: list[list[Curve]], grid: Grid) -> dict[str, Any]:
    """Metrics by groups by points; of the difference metrics by points."""
    empty = np.empty((0, grid.count), np.float32)
    parts = {
        key: np.stack([getattr(one, key) for row in curves for one in row]).astype(np.float32) if curves else empty
        for key in ("centre", "low", "high")
    }
    gaps = [gap(row[0], row[1]) for row in curves if len(row) > 1]
    for key in ("centre", "low", "high"):
        parts[f"gap_{key}"] = np.stack([getattr(one, key) for one in gaps]).astype(np.float32) if gaps else empty
    return parts


def _single(values: dict[str, Floats], ids: list[str]) -> Any:
    """Metrics by runs by points."""
    return np.stack([values[id] for id in ids], axis=1).astype(np.float32)
