"""`rollscope.open`: the store with the catalogue beside it.

The store knows columns. This module tells it which stored name any framework's name means, what
unit a name has, how to rebuild partials that are more than a row of numbers, and which series to
derive.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollscope.store import store
from rollscope.store.naming import Found, RunNaming
from rollscope.store.run import Run

if TYPE_CHECKING:
    from rollscope.catalog.names.held import RunNames
    from rollscope.catalog.partials.partial import Partial
    from rollscope.store.listing.allowed import Allowed
    from rollscope.store.numbers.merge import Points
    from rollscope.views.why.run import At
    from rollscope.views.why.why import Why


def open(path: str | os.PathLike[str] = "") -> store.Store:
    """Open a folder of runs (default `ROLLSCOPE_DIR`, else `./runs`), or one run's folder."""
    return open_for(path, None)


def open_for(path: str | os.PathLike[str], allowed: Allowed | None) -> store.Store:
    """Open it for someone who may see some of its runs alone; None sees all."""
    return store.open(path, partials, CatalogNames(), CatalogRun, derived, allowed)


class CatalogRun(Run):
    """A run whose names the catalogue knows, so that it can also explain why a number moved."""

    def why(self, metric: str, step: At, against: At | None = None) -> Why:
        """What each group, and each kind of sample, adds to the change of a mean or a share.

        `against` is the step to compare with; by default the one before `step` that has samples.
        Each may be a range, as a pair of its first and last step.
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

    def of(self, names: Collection[str], facts: Mapping[str, Any]) -> RunNaming:
        from rollscope.catalog.names.held import RunNames  # imports every family

        return CatalogRunNames(RunNames(names, facts.get("framework"), facts.get("algorithm")))


class CatalogRunNames:
    """The store's `RunNaming` by the catalogue."""

    def __init__(self, names: RunNames) -> None:
        self.names = names

    def find(self, name: str, dialect: str | None = None) -> Found:
        from rollscope.catalog.names.find import find

        return find(name, self.names, dialect)

    def find_all(self, pattern: str, dialect: str | None = None) -> Sequence[Found]:
        from rollscope.catalog.names.find import find_all

        return find_all(pattern, self.names, dialect)

    def unit(self, stored: str) -> str:
        return self.names.unit(stored)
