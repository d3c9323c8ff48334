"""Which names may have NaN or infinity: found without merging, so that few series are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from rollscope.store.folder import Folder
from rollscope.store.numbers.rows import Rows

from . import same_shape


def one_by_one(folder: Folder, names: Collection[str]) -> list[str]:
    """The names whose rows are merged for each name alone, which takes long."""
    stored = folder.locations()
    several = [name for name in names if name in stored and not stored[name].simple]
    shared = {name for group in same_shape.groups(folder, several) for name in group.names}
    return [name for name in several if name not in shared]


def with_any(folder: Folder, names: Collection[str]) -> Iterator[str]:
    """The names with a row that is NaN or infinite. Finite rows merge into finite points."""
    left = set(names)
    for name, rows in folder.rows_together(names):
        left.discard(name)
        if _has_any(rows):
            yield name
    yield from (name for name in sorted(left) if _has_any(folder.rows(name)))


def _has_any(rows: Rows) -> bool:
    """A row of weight 0 is no data, so its NaN is not counted."""
    return bool((~np.isfinite(rows.value) & (rows.weight != 0)).any())
