"""The turns of many samples as columns, for sources that have them so.

A sample whose turns are not told has a number: how many there were. As a value of one sample it is
a list of dicts, or that number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Turns:
    """Field -> one value a turn, None where there is none; the turns of a sample are neighbours."""

    fields: dict[str, list[Any]]
    lengths: NDArray[np.int64]  # of each sample: how many turns are here
    counts: list[int | None]  # of each sample: how many turns there were, if none are here

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[list[dict[str, Any]] | int | None]:
        """The value of each sample."""
        rows = zip(*self.fields.values(), strict=True)
        turns = [
            {name: value for name, value in zip(self.fields, row, strict=True) if value is not None} for row in rows
        ]
        for (start, end), count in zip(pairwise(self._edges()), self.counts, strict=True):
            yield turns[start:end] or count

    def part(self, first: int, last: int) -> Turns:
        """Those of some samples, copied."""
        edges = self._edges()[first : last + 1]
        fields = {name: values[edges[0] : edges[-1]] for name, values in self.fields.items()}
        return Turns(fields, self.lengths[first:last], self.counts[first:last])

    def _edges(self) -> list[int]:
        return [0, *np.cumsum(self.lengths).tolist()]
