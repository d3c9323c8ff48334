"""`rollscope.open`: a folder of runs, one run, or a lake."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rollscope.store.listing.entries import HOME
from rollscope.store.store import Store
from rollscope.views import run

from . import place

if TYPE_CHECKING:
    from rollscope.store.listing.allowed import Allowed

OF = os.path.join(HOME, "lake")  # in a cache, says which lake it is of


def open(path: str | os.PathLike[str] = "") -> Store:
    """Open a folder of runs (default `ROLLSCOPE_DIR`, else `./runs`), one run's folder, or a lake.

    A folder with a `lake.toml` is a lake. What is read of it is fetched into a local cache.
    """
    path = os.fspath(path) or os.environ.get("ROLLSCOPE_DIR") or "runs"
    if not place.is_lake(path):
        return open_for(path, None)
    from .reading import LakeStore  # needs DuckDB

    return LakeStore(place.read(path))


def open_for(path: str, allowed: Allowed | None) -> Store:
    """A folder of runs or the cache of a lake, for who may see some runs; None sees all."""
    if os.path.exists(os.path.join(path, OF)):
        from .cache import mirror  # reads sets, which a folder without any run has none of

        mirror.join(path)
    return run.open_for(path, allowed)
