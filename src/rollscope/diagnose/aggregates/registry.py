"""The registry of numbers made from samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .chunk import Chunk

Numbers = NDArray[np.float64]  # one per step of the chunk, NaN where there is none
Of = Callable[[Chunk], Numbers]


@dataclass(frozen=True, slots=True)
class Aggregate:
    name: str
    columns: tuple[str, ...]  # of samples; each must have a value somewhere
    of: Of
    text: bool = False  # reads text or tokens, so only of few samples of some steps
    needs: str = ""  # what samples must have, in words


AGGREGATES: dict[str, Aggregate] = {}


def aggregate(name: str, *columns: str, text: bool = False, needs: str = "") -> Callable[[Of], Of]:
    """Register a function from samples to one number per step.

    `needs` says what samples must have, where that is more than the columns.
    """

    def register(of: Of) -> Of:
        AGGREGATES[name] = Aggregate(name, columns, of, text, needs or ", ".join(columns))
        return of

    return register
