"""`rollscope.open`: the store with the catalogue beside it.

The store knows columns. Here it learns which stored name any framework's name means, what unit a name has, and how to add the partials
that are more than a row of numbers.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rollscope.errors import RollscopeError
from rollscope.store import run, store

if TYPE_CHECKING:
    from rollscope.catalog.partials.partial import Partial
    from rollscope.store.numbers.merge import Points
    from rollscope.views.why.why import Why


def open(path: str | os.PathLike[str] = "") -> store.Store:
    """The runs in a folder (by default `ROLLSCOPE_DIR`, else `./runs`), or the one run whose folder it is."""
    return store.open(path, partials, CatalogNames(), Run, derived)


class Run(run.Run):
    """A run with the series that are views over its samples and spans, and that can say why a number of it moved."""

    def why(self, metric: str, step: int, against: int | None = None) -> Why:
        """What each group, and each kind of sample, adds to the change of a mean or a share since another step (the one before)."""
        from rollscope.views.why.run import why_of  # with the names of the catalogue, which a series does not need

        return why_of(self, metric, step, against)


def derived(reader: run.Run) -> Mapping[str, Points]:
    """Sample statistics and times under our names, where nothing was logged under them."""
    from .derived import derived_series  # reads samples and spans, which a logged series does not need

    return derived_series(reader)


def partials(kind: str, state: Sequence[float]) -> Partial | None:
    from rollscope.catalog.partials import partial

    if kind not in partial.KINDS:
        importlib.import_module("rollscope.catalog.families")  # every kind registers itself when its module is imported
    return partial.from_state(kind, state) if kind in partial.KINDS else None


class CatalogNames:
    def find(self, name: str, known: Collection[str], dialect: str | None) -> str:
        """The stored name that is meant: itself, else ours for a framework's name, else a framework's for ours. An evaluation's number is not training's."""
        if name in known:
            return name
        ours, evaluation = _ours(name, dialect) or _ours(name, None) or (name, False)
        if ours in known and not evaluation:
            return ours
        fits = sorted((meant[1], stored) for stored in known if (meant := _ours(stored, dialect)) and meant[0] == ours)
        return next((stored for evaluated, stored in fits if evaluated or not evaluation), name)

    def unit(self, name: str) -> str:
        return _units().of(name)


@lru_cache(100_000)
def _ours(name: str, dialect: str | None) -> tuple[str, bool] | None:
    """Our name for the same number, and whether it is an evaluation's."""
    # imports every family of the catalogue: only for a name that is not stored as it was asked for
    from rollscope.catalog.names.resolve import resolve

    try:
        found = resolve(name, dialect)
    except RollscopeError:
        return None
    return (found.name, found.evaluation) if found.same else None


class Units:
    """Units of our own names, by looking them up, not by trying every spelling: a list of names must cost microseconds each."""

    def __init__(self) -> None:
        from rollscope.catalog.spec import METRICS

        importlib.import_module("rollscope.catalog.families")
        self._known: dict[str, str] = {}
        self._open: dict[str, list[tuple[int, str]]] = {}  # entries with placeholders by their first word
        for entry in METRICS.values():
            if "{" in entry.name:
                self._open.setdefault(entry.name.split("/")[0], []).append((entry.name.count("/"), entry.unit))
            self._known[entry.name] = entry.unit

    def of(self, name: str) -> str:
        """The unit of an entry, or of a statistic or a part of one."""
        words = name.removeprefix("discarded/").split("/")
        for end in range(len(words), 0, -1):
            found = self._known.get("/".join(words[:end]))
            if found is not None:
                return found
        fits = [unit for depth, unit in self._open.get(words[0], ()) if depth <= len(words) - 1]
        return fits[0] if len(set(fits)) == 1 else ""


@lru_cache(1)
def _units() -> Units:
    return Units()
