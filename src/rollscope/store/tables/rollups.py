"""Sample statistics of a run: stored with each sealed set, computed again only for some steps.

The stored statistics of a step count if no other file has samples of that step, or rows of its
samples. So a late row costs one step, and a running experiment costs the step that was added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rollscope.store.folder import Folder
from rollscope.store.lazy import LazyModule
from rollscope.store.live import paged
from rollscope.store.numbers.rows import Ints, stretch_starts
from rollscope.store.numbers.step_marks import NONE, StepMarks
from rollscope.store.sealed.reader import SealedSet

from .computed_steps import ComputedSteps

if TYPE_CHECKING:
    from rollscope.store import arrow
    from rollscope.store.numbers import fold, rollup

    from . import sample_rows
else:  # stored statistics need none of these
    arrow, sample_rows = LazyModule("rollscope.store.arrow"), LazyModule("rollscope.store.tables.sample_rows")
    fold, rollup = LazyModule("rollscope.store.numbers.fold"), LazyModule("rollscope.store.numbers.rollup")

FACTOR = np.uint64(6364136223846793005)  # of numbers that make a mark together
Parts = tuple[pa.Table | None, pa.Table | None]
Read = Callable[[SealedSet], pa.Table]  # the statistics of a set


class Rollups:
    """The statistics of one folder, cached between calls."""

    def __init__(self, folder: Folder, declared: Callable[[], dict[str, Any]]) -> None:
        self.folder, self._declared = folder, declared
        self._marks = NONE  # of the steps that were computed
        self._computed = ComputedSteps()
        self._cached: tuple[tuple[Any, ...], Parts] | None = None
        self._base: tuple[tuple[Any, ...], pa.Table] | None = None
        self._set_steps: dict[str, Ints] = {}
        self._own: dict[str, pa.Table] = {}  # of sets that store none, or for other declared ranges

    def table(self) -> pa.Table:
        tables = [part for part in self.parts() if part is not None]
        return pa.concat_tables(tables).unify_dictionaries() if tables else rollup.rollup(sample_rows.empty(), {})

    def parts(self) -> Parts:
        """The stored statistics that count, and the steps computed by this reader.

        The first table stays the same object until sets change or one of its steps does.
        """
        declared = self._declared()
        key = (self.folder.version, repr(declared))
        if self._cached is None or self._cached[0] != key:
            self._cached = key, self._parts(declared)
        return self._cached[1]

    def _parts(self, declared: dict[str, Any]) -> Parts:
        sets = [sealed for sealed in self.folder.sets if "samples.parquet" in sealed.files]
        self._forget_all_but(sets, declared)
        read: Read = lru_cache(None)(lambda sealed: self._stored(sealed, declared))  # at most once, and not kept
        steps = [self._steps(sealed, read) for sealed in sets]
        dirty = self._dirty(steps, repr(declared))
        self._compute(dirty, declared)
        replaced = np.empty(0, np.int64)
        if len(dirty):
            replaced = np.intersect1d(np.concatenate([replaced, *steps]), dirty.steps)
        base = self._without(sets, read, replaced, declared)
        return base, self._computed.table()

    def _forget_all_but(self, sets: list[SealedSet], declared: dict[str, Any]) -> None:
        """Forget what was kept of sets that were merged, and of ranges declared before."""
        paths, own = {sealed.path for sealed in sets}, {_own_key(sealed, declared) for sealed in sets}
        self._set_steps = {path: steps for path, steps in self._set_steps.items() if path in paths}
        self._own = {key: table for key, table in self._own.items() if key in own}

    def _steps(self, sealed: SealedSet, read: Read) -> Ints:
        """The steps of a set, from its statistics; they do not change."""
        if sealed.path not in self._set_steps:
            steps = np.sort(
                arrow.filled(read(sealed)["step"], 0)
            )  # np.unique would import numpy.ma, which takes longer
            [self._set_steps[sealed.path]] = paged.arrays([steps[np.diff(steps, prepend=steps[:1] - 1) > 0]])
        return self._set_steps[sealed.path]

    def _without(self, sets: list[SealedSet], read: Read, replaced: Ints, declared: dict[str, Any]) -> pa.Table | None:
        """The stored statistics of all sets, without some steps."""
        if not sets:
            return None
        key = (self.folder.layout, repr(declared), replaced.tobytes())
        if self._base is None or self._base[0] != key:
            joined = pa.concat_tables([read(sealed) for sealed in sets]).unify_dictionaries().combine_chunks()
            if len(replaced):
                joined = joined.filter(~np.isin(arrow.filled(joined["step"], 0), replaced))
            self._base = key, paged.table(joined)
        return self._base[1]

    def _stored(self, sealed: SealedSet, declared: dict[str, Any]) -> pa.Table:
        """The statistics of a set; computed here if it stores none for the declared ranges."""
        stored = sealed.sidecar("rollup.arrow")
        if stored is not None and sealed.facts.get("declared", {}) == declared:
            return stored
        key = _own_key(sealed, declared)
        if key not in self._own:
            fields = [field for field in arrow.schema(arrow.fields("samples")) if field.name in rollup.COLUMNS]
            rows = fold.join([sealed.files["samples.parquet"].read(rollup.COLUMNS)], pa.schema(fields))
            self._own[key] = rollup.rollup(rows, declared)
        return self._own[key]

    def _dirty(self, steps: list[Ints], declared: str) -> StepMarks:
        """The marks of steps whose stored statistics do not count: several files have rows."""
        live = [tail.steps_of("samples") for tail in self.folder.tails.values()]
        joined = np.sort(np.concatenate([np.empty(0, np.int64), *steps]))
        repeated = StepMarks.of(sample_rows.steps_of_repeated(self.folder) if len(self.folder.repeated()) else {})
        dirty = [joined[1:][joined[1:] == joined[:-1]], repeated.steps, *(counts.steps for counts in live)]
        resumed = self.folder.resumed
        if resumed:  # an older attempt may have samples of these steps
            dirty.append(joined[joined >= min(resumed.values())])
        return _marks(np.sort(np.concatenate(dirty)), (self.folder.layout, declared), [repeated, *live])

    def _compute(self, marks: StepMarks, declared: dict[str, Any]) -> None:
        """Compute the steps whose mark changed since the last time."""
        changed = marks.changed_since(self._marks)
        self._computed.drop(np.array([*changed, *marks.gone_since(self._marks)], np.int64))
        self._marks = marks
        if changed:
            rows = sample_rows.read(self.folder, rollup.COLUMNS, steps=changed)
            self._computed.add(changed, rollup.rollup(rows, declared))


def _marks(steps: Ints, same: tuple[int, str], counts: Sequence[StepMarks]) -> StepMarks:
    """A mark of how many rows each step has in each file: it changes when its statistics do."""
    steps = steps[stretch_starts(steps)]
    marks = np.full(len(steps), hash(same), np.int64).view(np.uint64)
    for one in counts:
        marks = marks * FACTOR + one.at(steps).view(np.uint64)
    return StepMarks(steps, marks.view(np.int64))


def _own_key(sealed: SealedSet, declared: dict[str, Any]) -> str:
    return sealed.path + repr(declared)
