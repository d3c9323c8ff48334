"""Samples that are in the same calls, and the batch that these calls make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.compute.subset import take

from .call import Call

Rows = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Unit:
    """Samples that are in the same calls. `index` has, for each call, the samples' places in it.

    `own` holds what its calls say of the whole step: a call that several units share is said once.
    """

    calls: list[Call]
    index: list[Rows]
    within: bool = False  # some samples of other units, and it is not known which
    own: dict[str, Any] = field(default_factory=dict)

    def rows(self) -> dict[str, Any]:
        """The facts of its samples from all its calls; what was said first stays."""
        batch: dict[str, Any] = {}
        for call, index in zip(self.calls, self.index, strict=True):
            merge(batch, _taken(call, index))
        return batch

    def common(self) -> dict[str, Any]:
        """What its calls say of the whole step, owned or not. What was said last counts."""
        return said(call.whole for call in self.calls)


def alone(calls: Sequence[Call]) -> list[Unit]:
    """Every call as a unit of its own."""
    return [Unit([call], [np.arange(call.size or 0)]) for call in calls]


def _taken(call: Call, index: Rows) -> dict[str, Any]:
    if (call.size or 0) == len(index) and (index == np.arange(len(index))).all():
        return call.rows
    return take(call.rows, index)


def merge(batch: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add facts; tables merge column by column."""
    for name, value in more.items():
        known = batch.get(name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            columns = dict(known)
            merge(columns, value)
            batch[name] = columns
        else:
            batch.setdefault(name, value)


def said(wholes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Values of a step from several calls: the later one counts, mappings (`seconds`) join."""
    values: dict[str, Any] = {}
    for whole in wholes:
        for name, value in whole.items():
            known = values.get(name)
            if isinstance(known, Mapping) and isinstance(value, Mapping):
                values[name] = {**known, **value}
            else:
                values[name] = value
    return values


def give_whole_values(units: Sequence[Unit], calls: Sequence[Call]) -> list[Unit]:
    """Give what calls say of the whole step to the unit that holds them first.

    A call without samples goes to the first unit that has not said any of its keys, or is a unit.
    """
    units = list(units)
    owners = {id(call): unit for unit in reversed(units) for call in unit.calls}
    for call in calls:
        owner = owners.get(id(call))
        if owner is None:
            owner = next((unit for unit in units if not unit.own.keys() & call.whole.keys()), None)
        if owner is None:
            units.append(owner := alone([call])[0])
        owner.own = said((owner.own, call.whole))
    return units
