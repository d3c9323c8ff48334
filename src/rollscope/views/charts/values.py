"""The stored values of some metrics at one step, for the read-outs of a page."""

from __future__ import annotations

from collections.abc import Sequence

from rollscope import strict_json
from rollscope.store.run import Run
from rollscope.strict_json import Number

from .grid import held_names


def values_at(run: Run, names: Sequence[str], step: int) -> dict[str, Number]:
    """Name -> its merged value at exactly this step; names without a point there are left out."""
    found: dict[str, Number] = {}
    for one in held_names(run, names):
        value = run.series(one.asked, steps=(step, step))["value"]
        if len(value):
            found[one.asked] = strict_json.number(value[0])
    return found
