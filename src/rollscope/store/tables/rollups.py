"""Sample statistics of a whole run: kept with each sealed set, and computed again only for steps that are not whole in one.

A step is whole in a set when no other file has samples of it and no sample of it was written about elsewhere. A late row
therefore costs its own step, and a running experiment the step that was added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rollscope.store.folder import Folder
from rollscope.store.lazy import LazyModule
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed.reader import SealedSet

if TYPE_CHECKING:
    from rollscope.store import arrow
    from rollscope.store.numbers import fold, rollup

    from . import sample_rows
else:  # statistics that are kept need none of these
    arrow, sample_rows = LazyModule("rollscope.store.arrow"), LazyModule("rollscope.store.tables.sample_rows")
    fold, rollup = LazyModule("rollscope.store.numbers.fold"), LazyModule("rollscope.store.numbers.rollup")

Fresh = dict[int, tuple[tuple[int, ...], pa.Table]]
Marks = dict[int, tuple[int, ...]]  # step -> how many rows it has where


class Rollups:
    """The statistics of one folder, kept between questions."""

    def __init__(self, folder: Folder, declared: Callable[[], dict[str, Any]]) -> None:
        self.folder, self._declared = folder, declared
        self._fresh: Fresh = {}  # step -> what it was computed from, and its statistics
        self._kept: tuple[tuple[Any, ...], tuple[pa.Table | None, pa.Table | None]] | None = None
        self._base: tuple[tuple[Any, ...], pa.Table] | None = None
        self._known: dict[str, Ints] = {}
        self._own: dict[str, pa.Table] = {}  # of sets that have none, or of other ranges than are declared now

    def table(self) -> pa.Table:
        found = [part for part in self.parts() if part is not None]
        return pa.concat_tables(found).unify_dictionaries() if found else rollup.rollup(sample_rows.empty(), {})

    def parts(self) -> tuple[pa.Table | None, pa.Table | None]:
        """What is kept, the same table until files are sealed or merged or one of its steps changes; and the steps computed since."""
        declared = self._declared()
        key = (self.folder.version, repr(declared))
        if self._kept is None or self._kept[0] != key:
            self._kept = key, self._parts(declared)
        return self._kept[1]

    def _parts(self, declared: dict[str, Any]) -> tuple[pa.Table | None, pa.Table | None]:
        sets = [piece for piece in self.folder.sets if "samples.parquet" in piece.files]
        stored = [self._stored(piece, declared) for piece in sets]
        steps = [self._steps(piece, table) for piece, table in zip(sets, stored, strict=True)]
        dirty = self._dirty(steps)
        self._refresh(dirty, declared)
        fresh = [self._fresh[step][1] for step in sorted(dirty) if step in self._fresh]
        gone = (
            np.intersect1d(np.concatenate([np.empty(0, np.int64), *steps]), np.array(list(dirty), np.int64))
            if dirty
            else np.empty(0, np.int64)
        )
        return self._without(stored, gone, declared), pa.concat_tables(fresh).unify_dictionaries() if fresh else None

    def _steps(self, piece: SealedSet, table: pa.Table) -> Ints:
        """The steps of a set that has statistics; they do not change."""
        if piece.path not in self._known:
            steps = np.sort(arrow.filled(table["step"], 0))  # np.unique would import numpy.ma, which takes longer
            self._known[piece.path] = steps[np.diff(steps, prepend=steps[:1] - 1) > 0]
        return self._known[piece.path]

    def _without(self, stored: list[pa.Table], gone: Ints, declared: dict[str, Any]) -> pa.Table | None:
        """What is kept of all sets, without some steps."""
        key = (self.folder.layout, repr(declared), gone.tobytes())
        if stored and (self._base is None or self._base[0] != key):
            joined = pa.concat_tables(stored).unify_dictionaries().combine_chunks()
            self._base = key, joined.filter(~np.isin(arrow.filled(joined["step"], 0), gone)) if len(gone) else joined
        return self._base[1] if stored and self._base is not None else None

    def _stored(self, piece: SealedSet, declared: dict[str, Any]) -> pa.Table:
        found = piece.rollup
        if found is not None and piece.facts.get("declared", {}) == declared:
            return found
        key = piece.path + repr(declared)
        if key not in self._own:
            whole = pa.schema(
                [field for field in arrow.schema(arrow.fields("samples")) if field.name in rollup.COLUMNS]
            )
            self._own[key] = rollup.rollup(
                fold.join([piece.files["samples.parquet"].read(rollup.COLUMNS)], whole), declared
            )
        return self._own[key]

    def _dirty(self, steps: list[Ints]) -> Marks:
        """Steps that lie in more than one piece or have a sample that does, each with how many rows it has where."""
        live = [tail.steps_of("samples") for tail in self.folder.tails.values()]
        joined = np.sort(np.concatenate([np.empty(0, np.int64), *steps]))
        found = set(joined[1:][joined[1:] == joined[:-1]].tolist()) | {step for counts in live for step in counts}
        patched = sample_rows.steps_of_repeated(self.folder) if len(self.folder.repeated()) else {}
        found |= patched.keys()
        cut = self.folder.resumed
        if cut:  # steps an older attempt may have samples of
            found |= {step for step in joined.tolist() if step >= min(cut.values())}
        return {
            step: (self.folder.layout, patched.get(step, 0), *(counts.get(step, 0) for counts in live))
            for step in found
        }

    def _refresh(self, dirty: Marks, declared: dict[str, Any]) -> None:
        """Compute what changed since it was last computed."""
        signed = {step: (*mark, hash(repr(declared))) for step, mark in dirty.items()}
        changed = [step for step, mark in signed.items() if step not in self._fresh or self._fresh[step][0] != mark]
        if not changed:
            return
        found = rollup.rollup(sample_rows.read(self.folder, rollup.COLUMNS, steps=changed), declared)
        by_step = arrow.filled(found["step"], 0)
        order = np.argsort(by_step, kind="stable")
        bounds = (
            np.searchsorted(by_step[order], sorted(changed), "left"),
            np.searchsorted(by_step[order], sorted(changed), "right"),
        )
        for i, step in enumerate(sorted(changed)):
            rows: Ints = order[bounds[0][i] : bounds[1][i]]
            self._fresh[step] = signed[step], found.take(pa.array(rows))
