"""Where samples lie: a table of hashed ids per sealed set, by which a sample is found, and by which rows about one sample in several files are seen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def hashes(ids: Iterable[str | None]) -> Hashes:
    """A stable 64-bit number per id."""
    digest = b"".join(hashlib.blake2b((id or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids)
    return np.frombuffer(digest, np.uint64)


def index(found: Hashes) -> pa.Table:
    """Hashes in order, each with its row."""
    order = np.argsort(found, kind="stable")
    return pa.table({"hash": found[order], "row": order.astype(np.int64)})


def repeated(parts: Iterable[NDArray[Any]]) -> Hashes:
    """Hashes that occur more than once, over all parts."""
    joined = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))
    again = joined[1:][joined[1:] == joined[:-1]]
    return np.unique(again) if len(again) else again


def with_live(found: Hashes, sets: Iterable[Hashes], live: Hashes) -> Hashes:
    """The same, with rows of live logs beside sets whose own repeats are known already. Each set's hashes are in order."""
    live = np.sort(live)
    again = np.zeros(len(live), bool)
    again[1:] = live[1:] == live[:-1]
    for known in sets:
        at = np.minimum(np.searchsorted(known, live), max(len(known) - 1, 0))
        again |= known[at] == live if len(known) else again
    return np.union1d(found, live[again])
