"""The partials of one block of steps. It runs in a process of its own, here or elsewhere."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Partial
from rollscope.kernels import compute
from rollscope.lake import door
from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.views.nullable import cell

from .batches import batches, read_columns
from .definitions import inputs, is_asked, wanted

Steps = tuple[int, ...]  # a block
Row = dict[str, Any]


def recompute_block(run: str, names: tuple[str, ...], code: str, now: int, steps: Steps) -> list[Row]:
    """Rows of the table `scans` for some steps of the run in a folder."""
    reader = _opened(run)
    read = [*read_columns(inputs(names)), "step", "attempt"]
    columns = arrow.numpy(reader.samples_of_steps(read, steps).select(read), tables.types("samples"))
    at = np.asarray(columns["step"]).astype(np.int64)
    rows: list[Row] = []
    for step in steps:
        here = np.flatnonzero(at == step)
        of_step = {name: [cell(value) for value in values[here]] for name, values in columns.items()}
        attempt = max((a for a in of_step["attempt"] if a is not None), default=None)
        about = {"step": step, "split": "train", "time_ns": now, "code": code, "attempt": attempt}
        found = partials(of_step, names)
        rows += [{**about, "name": f"recomputed/{name}", "value": value.value} for name, value in found.items()]
        rows += [{**about, "name": "recomputed"}]  # this step was looked at, whatever came of it
    return rows


def partials(columns: dict[str, list[Any]], names: Sequence[str]) -> dict[str, Partial]:
    """The metrics of one step: each batch gives partials, and they merge."""
    parts = [compute(batch, strict=False, names=wanted(names)) for batch in batches(columns)]
    merged: dict[str, list[Partial]] = {}
    for part in parts:
        for name, partial in part.items():
            merged.setdefault(name, []).append(partial)
    return {name: functools.reduce(operator.add, values) for name, values in merged.items() if is_asked(name, names)}


@functools.lru_cache(maxsize=4)
def _opened(run: str) -> Run:
    """The reader of a run. A process computes many blocks of it."""
    path = os.path.abspath(run)
    return door.open_for(os.path.dirname(path), None).run(os.path.basename(path))
