"""The number of a step and its other clocks, as the store holds them."""

from __future__ import annotations

from typing import Any

from rollscope.record.loss import Lose
from rollscope.store.schema import STEPS

LAST = 2**63 - 1
CLOCKS = frozenset(column.name for column in STEPS) - {"run", "step", "time_ns", "end_ns", "writer", "attempt"}


def step_number(step: Any) -> int:
    """The step as an integer. Raises if it is not a number, or beyond 64 bits."""
    number = int(step)
    if not -LAST <= number <= LAST:
        raise ValueError(f"step {str(number)[:40]} does not fit into 64 bits")
    return number


def known_clocks(clocks: dict[str, Any], lose: Lose) -> dict[str, Any]:
    """The clocks that have a column."""
    for unknown in clocks.keys() - CLOCKS:
        lose("clocks", f"commit does not know {unknown!r}; it knows {', '.join(sorted(CLOCKS))}")
    return {name: value for name, value in clocks.items() if name in CLOCKS}
