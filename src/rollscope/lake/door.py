"""`rollscope.open`: a folder of runs, one run, or a lake."""

from __future__ import annotations

import os

from rollscope.store.store import Store
from rollscope.views import run

from . import place


def open(path: str | os.PathLike[str] = "") -> Store:
    """Open a folder of runs (default `ROLLSCOPE_DIR`, else `./runs`), one run's folder, or a lake.

    A folder with a `lake.toml` is a lake. Its runs are fetched into a local cache when they are
    first opened.
    """
    path = os.fspath(path) or os.environ.get("ROLLSCOPE_DIR") or "runs"
    if not place.is_lake(path):
        return run.open(path)
    from .reading import LakeStore  # needs DuckDB

    return LakeStore(place.read(path))
