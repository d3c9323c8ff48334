"""The number of a step and its other clocks, as the store holds them."""

from __future__ import annotations

from typing import Any

from rollscope.record.loss import ODD, Lose, one_line
from rollscope.store.schema import STEPS

from .label import shown

LAST = 2**63 - 1
CLOCKS = frozenset(column.name for column in STEPS) - {"run", "step", "time_ns", "end_ns", "writer", "attempt"}


def step_number(step: Any) -> int:
    """The step as an integer. Raises if it is not a number, or beyond 64 bits."""
    number = int(step)
    if not -LAST <= number <= LAST:
        raise ValueError("it does not fit into 64 bits")
    return number


def known_clocks(clocks: dict[str, Any], lose: Lose) -> dict[str, float]:
    """The clocks that have a column, as numbers. Others are counted."""
    kept: dict[str, float] = {}
    for name, value in clocks.items():
        if name not in CLOCKS:
            lose("clocks", f"commit does not know {name!r}; it knows {', '.join(sorted(CLOCKS))}")
        elif value is not None:
            try:
                kept[name] = float(value) if name == "epoch" else step_number(value)
            except ODD as error:
                lose("clocks", f"{name}={shown(value)} is not a number ({one_line(error)})")
    return kept
