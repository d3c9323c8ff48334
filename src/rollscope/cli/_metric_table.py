"""The table of metrics that `show` and `watch` print: name, sparkline, last value, unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rollscope.views.no_value import last_known

from ._terminal import styled

if TYPE_CHECKING:
    from rich.table import Table

    from rollscope.store.naming import Found
    from rollscope.store.run import Run

Columns = dict[str, NDArray[Any]]
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 32  # of a sparkline
FEWEST_BARS = 8  # even in a narrow terminal
GAP = 2  # blank characters between two columns


def asked_metrics(reader: Run, patterns: list[str] | None, dialect: str | None = None) -> tuple[Columns, list[Found]]:
    """`reader.metrics()` of the names and patterns asked for, and how each was read; all without.

    A metric asked for by a framework's name has that name, and its value is in that unit. A metric
    that has no data at its last step has None as its last value.
    """
    metrics = {**reader.metrics(), "last": last_known(reader)}
    if not patterns:
        return metrics, [reader.find(name) for name in metrics["name"].tolist()]
    found = [one for text in patterns for one in reader.find_all(text, dialect) or [reader.find(text, dialect)]]
    found = list({one.asked: one for one in found}.values())
    rows = {name: i for i, name in enumerate(metrics["name"].tolist())}
    chosen = {column: values[[rows[one.stored] for one in found]] for column, values in metrics.items()}
    return {
        **chosen,
        "name": np.array([one.asked for one in found], object),
        "unit": np.array([one.unit for one in found], object),
        "last": np.array([_scaled(v, one.scale) for v, one in zip(chosen["last"], found, strict=True)], object),
    }, found


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def metric_table(cells: list[tuple[str, str, str]], width: int) -> tuple[Table, int]:
    """An empty table wide enough for these names, values and units, and the bars a sparkline has.

    In a narrow terminal sparklines get shorter and then names wrap; values are never cut.
    """
    from rich.table import Table

    name, value, unit = (max(map(len, column)) for column in zip(*cells, strict=True)) if cells else (0, 0, 0)
    room = width - value - unit - 4 * GAP
    bars = min(max(room - name, FEWEST_BARS), MOST_BARS)
    table = Table(box=None, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(width=min(name, max(room - bars, FEWEST_BARS)), overflow="fold")
    table.add_column(max_width=bars, no_wrap=True)
    for size in (value, unit):
        table.add_column(width=size, no_wrap=True)
    return table, bars


def add_row(table: Table, name: str, line: str, value: str, unit: str) -> None:
    table.add_row(styled(name), styled(line, "cyan"), value, styled(unit, "dim"))


def sparklines(reader: Run, names: list[str], bars: int = MOST_BARS) -> list[str]:
    """A sparkline per metric.

    A bar is the mean of its steps, a blank means that there is no number.
    """
    if not names:
        return []
    last = max(reader.folder.last_step or 1, 1)
    means = reader.buckets(names, 0, last, min(bars, last + 1))["mean"]
    return [sparkline(row) for row in means]


def sparkline(values: NDArray[Any]) -> str:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ""
    low, high = float(finite.min()), float(finite.max())
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((v - low) * scale)] if math.isfinite(v) else " " for v in values.tolist())
