"""The pyramid of a sealed set: each series in blocks of 64 and of 4,096 points, already merged.

A chart of many points reads the level that is just fine enough instead of the rows.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.numbers.buckets import Summaries
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.rows import Ints

LEVELS = (64, 4096)
NARROW = ("count", "nan", "posinf", "neginf")  # stored as int32


def levels(points: Points, counts: Ints) -> dict[int, tuple[Summaries, Ints]]:
    """The summaries of each level, and where each name begins in them.

    `points` are the series of all names end to end, `counts` how many points each name has.
    """
    summaries, size = Summaries.of(points), 1
    pyramid = {}
    for level in LEVELS:
        summaries, counts = _coarser(summaries, counts, level // size)
        pyramid[level] = (summaries, np.cumsum(counts) - counts)
        size = level
    return pyramid


def _coarser(summaries: Summaries, counts: Ints, by: int) -> tuple[Summaries, Ints]:
    coarse = -(-counts // by)
    first = np.cumsum(counts) - counts
    within = np.arange(int(coarse.sum())) - np.repeat(np.cumsum(coarse) - coarse, coarse)
    return summaries.merged(np.repeat(first, coarse) + by * within), coarse


def stored(summaries: Summaries) -> pa.Table:
    columns = {f.name: getattr(summaries, f.name) for f in fields(summaries)}
    return pa.table({name: values.astype(np.int32) if name in NARROW else values for name, values in columns.items()})


def loaded(table: pa.Table) -> Summaries:
    return Summaries(*(arrow.numbers(table[f.name]) for f in fields(Summaries)))
