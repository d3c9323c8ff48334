"""A series as a rule gets it: defined points in step order, so that a rule never meets NaN."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Series:
    """The defined points of one metric, in step order."""

    step: IntArray
    value: FloatArray
    name: str = ""

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def of(cls, value: Any, name: str = "", step: Any = None) -> Series:
        """A series whose steps count from 0, unless they are given."""
        value = np.asarray(value, np.float64)
        steps = np.arange(len(value)) if step is None else np.asarray(step)
        return cls(steps.astype(np.int64), value, name)

    def until(self, step: int | None) -> Series:
        """The points up to a step."""
        if step is None or not len(self.step) or self.step[-1] <= step:
            return self
        end = int(np.searchsorted(self.step, step, side="right"))
        return Series(self.step[:end], self.value[:end], self.name)

    def at(self, steps: Iterable[int]) -> FloatArray:
        """The values at some steps, NaN where there is none."""
        if steps is self.step:
            return self.value.copy()
        wanted = np.asarray(steps if isinstance(steps, np.ndarray) else list(steps), np.int64)
        if not len(self):
            return np.full(len(wanted), np.nan)
        place = np.minimum(np.searchsorted(self.step, wanted), len(self) - 1)
        values: FloatArray = np.where(self.step[place] == wanted, self.value[place], np.nan)
        return values


@dataclass(frozen=True, slots=True)
class NonFinite:
    """How often, and from when to when, a metric logged NaN or infinity."""

    name: str
    nan: int
    infinite: int
    first_step: int
    last_step: int
    count: int  # all logged points, finite ones included
