"""A heatmap: how a quantity is distributed over the samples of each step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning, dialect_of, meaning
from rollscope.views.metric_info import HEAT_COLUMNS, range_of

BINS = 24
Floats = NDArray[np.float64]


def heatmap(
    run: Run, name: str, lo: float | None, hi: float | None, points: int, env: str = ""
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Head and columns (x, edges, share): shares of samples by bin, for each bucket of steps."""
    name = run.find(name).stored
    m = meaning(name, dialect_of(run))
    step, value = _samples(run, name, m, env)
    first, last = run.step_range
    lo, hi = float(first if lo is None else lo), float(last if hi is None else hi)
    width = max(1, int(np.ceil((hi - lo + 1) / points)))
    count = max(1, int(np.ceil((hi - lo + 1) / width)))
    edges = _edges(value, range_of(name, m, run.declared)[0])
    inside = (step >= lo) & (step <= hi)
    share = _shares(((step[inside] - lo) // width).astype(int), value[inside], edges, count)
    x = lo + (np.arange(count) + 0.5) * width - 0.5
    return {"lo": lo, "hi": hi, "width": width, "bins": BINS}, {"x": x, "edges": edges, "share": share}


def _samples(run: Run, name: str, m: Meaning, env: str) -> tuple[Floats, Floats]:
    """Step and value of each sample that the metric covers, of an environment if one is given."""
    column = HEAT_COLUMNS.get(m.entry.name if m.entry else "")
    if column is None:
        known = ", ".join(HEAT_COLUMNS)
        raise BadInput(f"{name!r} is not a quantity of samples; a heatmap can be drawn for {known}")
    columns = run.samples(columns=["step", "trained", "env", column])
    step, value = (_floats(columns[name]) for name in ("step", column))
    keep = np.isfinite(step) & np.isfinite(value)
    if m.match and m.match.scope == "trained":
        keep &= np.array([bool(trained) for trained in columns["trained"]], bool)
    if env:
        keep &= columns["env"] == env
    return step[keep], value[keep]


def _floats(column: Any) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in column])


def _edges(value: Floats, shown: list[float | None]) -> Floats:
    """Edges of the bins over the metric's range, else over the values."""
    low, high = shown
    if low is None:
        low = float(value.min()) if len(value) else 0.0
    if high is None:
        high = float(value.max()) if len(value) else 1.0
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _shares(column: NDArray[np.int64], value: Floats, edges: Floats, count: int) -> NDArray[np.float32]:
    cells = np.zeros((count, BINS), np.float32)
    row = np.clip(np.searchsorted(edges, value, side="right") - 1, 0, BINS - 1)
    np.add.at(cells, (column, row), 1)
    total = cells.sum(1, keepdims=True)
    np.divide(cells, total, out=cells, where=total > 0)
    return cells
