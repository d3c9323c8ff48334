"""`rollscope.open`: the store with the catalogue beside it.

The store knows columns. This module tells it which stored name any framework's name means, what
unit a name has, how to rebuild partials that are more than a row of numbers, and which series to
derive.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rollscope.errors import RollscopeError
from rollscope.store import store
from rollscope.store.run import Run

if TYPE_CHECKING:
    from rollscope.catalog.partials.partial import Partial
    from rollscope.store.numbers.merge import Points
    from rollscope.views.why.why import Why


def open(path: str | os.PathLike[str] = "") -> store.Store:
    """Open a folder of runs (default `ROLLSCOPE_DIR`, else `./runs`), or one run's folder."""
    return store.open(path, partials, CatalogNames(), CatalogRun, derived)


class CatalogRun(Run):
    """A run whose names the catalogue knows, so that it can also explain why a number moved."""

    def why(self, metric: str, step: int, against: int | None = None) -> Why:
        """What each group, and each kind of sample, adds to the change of a mean or a share.

        `against` is the step to compare with; by default the one before `step` that has samples.
        """
        from rollscope.views.why.run import why_of  # imports the catalogue, which a series does not need

        return why_of(self, metric, step, against)


def derived(run: Run) -> Mapping[str, Points]:
    """Sample statistics and times under our names, unless something was logged under them."""
    from .derived import derived_series  # reads samples and spans, which a logged series does not need

    return derived_series(run)


def partials(kind: str, state: Sequence[float]) -> Partial | None:
    """Rebuild a partial from its stored state; None for a kind the catalogue does not know."""
    from rollscope.catalog.partials import partial

    if kind not in partial.KINDS:
        importlib.import_module("rollscope.catalog.families")  # a kind registers itself on import
    return partial.from_state(kind, state) if kind in partial.KINDS else None


class CatalogNames:
    """The store's `Naming` by the catalogue."""

    def find(self, name: str, known: Collection[str], dialect: str | None) -> str:
        """The stored name meant: itself, ours for a framework's, or a framework's for ours.

        An evaluation's name never means a training series; any other name prefers a training
        series.
        """
        if name in known:
            return name
        ours, evaluation = _ours(name, dialect) or _ours(name, None) or (name, False)
        if ours in known and not evaluation:
            return ours
        resolved = ((stored, _ours(stored, dialect)) for stored in known)
        fits = sorted((match[1], stored) for stored, match in resolved if match and match[0] == ours)
        return next((stored for is_evaluation, stored in fits if is_evaluation or not evaluation), name)

    def unit(self, name: str) -> str:
        return _unit(name)


@lru_cache(100_000)
def _ours(name: str, dialect: str | None) -> tuple[str, bool] | None:
    """Our name for the same number, and whether it is an evaluation's."""
    from rollscope.catalog.names.resolve import resolve  # imports every family

    try:
        match = resolve(name, dialect)
    except RollscopeError:
        return None
    return (match.name, match.evaluation) if match.same else None


@lru_cache(100_000)
def _unit(name: str) -> str:
    """The unit of one of our names: that of the entry it means; empty for any other name."""
    from rollscope.catalog.names.index import indexes  # imports every family

    matches = indexes()[0].find(name)
    return matches[0].entry.unit if matches else ""
