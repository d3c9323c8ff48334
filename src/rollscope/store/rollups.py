"""Sample statistics of a whole run: kept with each sealed set, and computed again only for steps that are not whole in one.

A step is whole in a set when no other file has samples of it and no sample of it was written about elsewhere. A late row
therefore costs its own step, and a running experiment the step that was added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import arrow, fold, sample_rows
from .folder import Folder
from .rollup import COLUMNS, rollup
from .rows import Ints
from .sealed import Sealed

WHOLE = pa.schema([field for field in arrow.schema(arrow.fields("samples")) if field.name in COLUMNS])
Fresh = dict[int, tuple[tuple[int, ...], pa.Table]]


class Rollups:
    """The statistics of one folder, kept between questions."""

    def __init__(self, folder: Folder, declared: Callable[[], dict[str, Any]]) -> None:
        self.folder, self._declared = folder, declared
        self._fresh: Fresh = {}  # step -> what it was computed from, and its statistics
        self._kept: tuple[tuple[Any, ...], pa.Table] | None = None
        self._own: dict[str, pa.Table] = {}  # of sets that have none, or of other ranges than are declared now

    def table(self) -> pa.Table:
        declared = self._declared()
        key = (self.folder.version, repr(declared))
        if self._kept is None or self._kept[0] != key:
            self._kept = key, self._table(declared)
        return self._kept[1]

    def _table(self, declared: dict[str, Any]) -> pa.Table:
        sets = [piece for piece in self.folder.sets if "samples.parquet" in piece.files]
        stored = [self._stored(piece, declared) for piece in sets]
        dirty = self._dirty(stored)
        parts = [_without(table, dirty) for table in stored]
        self._refresh(dirty, declared)
        parts += [self._fresh[step][1] for step in sorted(dirty) if step in self._fresh]
        return pa.concat_tables(parts).unify_dictionaries() if parts else rollup(sample_rows.empty(), {})

    def _stored(self, piece: Sealed, declared: dict[str, Any]) -> pa.Table:
        found = piece.rollup
        if found is not None and piece.facts.get("declared", {}) == declared:
            return found
        key = piece.path + repr(declared)
        if key not in self._own:
            self._own[key] = rollup(fold.join([piece.files["samples.parquet"].read(COLUMNS)], WHOLE), declared)
        return self._own[key]

    def _dirty(self, stored: list[pa.Table]) -> dict[int, tuple[int, ...]]:
        """Steps that lie in more than one piece or have a sample that does, each with how many rows it has where."""
        steps = [table["step"].unique().to_numpy() for table in stored]
        live = [tail.steps_of("samples") for tail in self.folder.tails.values()]
        joined, times = np.unique(np.concatenate([np.empty(0, np.int64), *steps]), return_counts=True)
        found = set(joined[times > 1].tolist()) | {step for counts in live for step in counts}
        patched = sample_rows.steps_of_repeated(self.folder)
        found |= patched.keys()
        cut = self.folder.resumed
        if cut:  # steps an older attempt may have samples of
            found |= {step for step in joined.tolist() if step >= min(cut.values())}
        return {step: (self.folder.layout, patched.get(step, 0), *(counts.get(step, 0) for counts in live)) for step in found}

    def _refresh(self, dirty: dict[int, tuple[int, ...]], declared: dict[str, Any]) -> None:
        """Compute what changed since it was last computed."""
        signed = {step: (*mark, hash(repr(declared))) for step, mark in dirty.items()}
        changed = [step for step, mark in signed.items() if step not in self._fresh or self._fresh[step][0] != mark]
        if not changed:
            return
        found = rollup(sample_rows.read(self.folder, COLUMNS, steps=changed), declared)
        by_step = found["step"].to_numpy()
        order = np.argsort(by_step, kind="stable")
        bounds = np.searchsorted(by_step[order], sorted(changed), "left"), np.searchsorted(by_step[order], sorted(changed), "right")
        for i, step in enumerate(sorted(changed)):
            rows: Ints = order[bounds[0][i] : bounds[1][i]]
            self._fresh[step] = signed[step], found.take(pa.array(rows))


def _without(table: pa.Table, dirty: dict[int, tuple[int, ...]]) -> pa.Table:
    if not dirty:
        return table
    return table.filter(pc.invert(pc.is_in(table["step"], pa.array(list(dirty), pa.int64()))))
