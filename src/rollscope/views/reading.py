"""`rollscope.open`: the store with the catalogue beside it.

The store knows columns. Here it learns which stored name any framework's name means, what unit a name has, and how to add the partials
that are more than a row of numbers.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Sequence
from functools import lru_cache

from rollscope.catalog import dialects, partial
from rollscope.errors import AmbiguousMetric, BadInput, UnknownMetric
from rollscope.store import read


def open(path: str | os.PathLike[str] = "") -> read.Store:
    """The runs in a folder (by default `ROLLSCOPE_DIR`, else `./runs`), or the one run whose folder it is."""
    return read.open(path, partials, CatalogNames())


def partials(kind: str, state: Sequence[float]) -> partial.Partial | None:
    if kind not in partial.KINDS:
        importlib.import_module("rollscope.catalog.families")  # every kind registers itself when its module is imported
    return partial.from_state(kind, state) if kind in partial.KINDS else None


class CatalogNames:
    def find(self, name: str, known: Collection[str], dialect: str | None) -> str:
        """The stored name that is meant: itself, else ours for a framework's name, else a framework's for ours."""
        if name in known:
            return name
        ours = _ours(name, dialect) or _ours(name, None)
        if ours in known:
            return str(ours)
        wanted = ours or name
        return next((stored for stored in known if _ours(stored, dialect) == wanted), name)

    def unit(self, name: str) -> str:
        try:
            return dialects.resolve(name).entry.unit
        except (UnknownMetric, AmbiguousMetric):
            return ""


@lru_cache(100_000)
def _ours(name: str, dialect: str | None) -> str | None:
    try:
        found = dialects.resolve(name, dialect)
    except (UnknownMetric, AmbiguousMetric, BadInput):
        return None
    return found.name if found.same else None
