"""Imported rows as blocks of a log."""

from __future__ import annotations

import numpy as np

from rollscope.sources import Points, Records
from rollscope.store.log import block
from rollscope.store.log.block import Labels, Values

ROWS = 65536  # values in a block
SAMPLES = 256  # rows in a block of any other table


def points(item: Points, attempt: int) -> list[bytes]:
    labels = Labels(attempt=attempt, rank=item.rank, split=item.split, clock=item.clock)
    if item.index is None:
        return _wide(item, labels)
    payloads = []
    for start in range(0, len(item.step), ROWS):
        cut = slice(start, start + ROWS)
        used, index = np.unique(item.index[cut], return_inverse=True)
        values = Values(item.step[cut], item.time_ns[cut], index, item.values[cut])  # type: ignore[arg-type]
        payloads.append(block.long([item.names[i] for i in used.tolist()], None, values, labels))
    return payloads


def _wide(points: Points, labels: Labels) -> list[bytes]:
    rows = np.empty(len(points.step), block.row_type(len(points.names)))
    rows["step"], rows["time_ns"], rows["values"] = points.step, points.time_ns, points.values
    size = max(1, ROWS // max(1, len(points.names)))  # rows of a block
    return [block.wide(points.names, None, rows[i : i + size].tobytes(), labels) for i in range(0, len(rows), size)]


def records(item: Records, attempt: int) -> list[bytes]:
    table, rows = item.table, item.rows
    same = {"attempt": attempt} if table != "runs" else {}
    return [block.table(table, rows[i : i + SAMPLES], same) for i in range(0, len(rows), SAMPLES)]
