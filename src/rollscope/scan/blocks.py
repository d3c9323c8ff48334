"""The samples of a run that some scanners have not seen, in blocks that end where steps end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run

from .job import Block

SIZE = 2_000  # samples of a block; a step with more is a block of its own


def blocks(run: Run, names: Sequence[str], code: str, again: bool = False, size: int = SIZE) -> list[Block]:
    """What is left to scan, oldest step first; everything if `again`."""
    columns = run.samples(columns=["id", "step"])
    seen = set() if again else scanned(run, names, code)
    left = np.array([id is not None and id not in seen for id in columns["id"]], bool)
    ids, steps = columns["id"][left], np.nan_to_num(columns["step"].astype(np.float64)[left], nan=np.inf)
    order = np.argsort(steps, kind="stable")
    return list(_cut(ids[order], steps[order], size))


def _cut(ids: NDArray[Any], steps: NDArray[np.float64], size: int) -> Iterator[Block]:
    ends = np.flatnonzero(np.append(steps[1:] != steps[:-1], True)) + 1 if len(ids) else np.empty(0, int)
    start = last = 0
    for end in ends.tolist():
        if end - start > size and last > start:
            yield tuple(ids[start:last])
            start = last
        last = end
    if last > start:
        yield tuple(ids[start:last])


def scanned(run: Run, names: Sequence[str], code: str) -> set[str]:
    """Ids of samples that every one of these scanners, as its file is now, has seen."""
    if not run.has("scans"):
        return set()
    rows = run.table("scans", ["sample", "name", "code"])
    by: dict[str, set[str]] = defaultdict(set)
    for sample, name, of in zip(rows["sample"], rows["name"], rows["code"], strict=True):
        if of == code:
            by[str(name).split("/", 1)[0]].add(sample)
    return set.intersection(*(by[name] for name in names))
