"""Where samples lie: a table of hashed ids per sealed set, by which a sample is found, and by which rows about one sample in several files are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def hashes(ids: Iterable[str | None]) -> Hashes:
    """A stable 64-bit number per id."""
    import hashlib  # with OpenSSL behind it, which a question about what is sealed does not need

    digest = b"".join(
        hashlib.blake2b((id or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids
    )
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


def union(one: Hashes, other: Hashes) -> Hashes:
    """Each once. (Numpy imports its masked arrays for that, which takes longer than to see that there are none.)"""
    return np.union1d(one, other) if len(one) or len(other) else one


def in_both(one: Hashes, other: Hashes) -> Hashes:
    """Hashes that two sets have in common. Both are in order."""
    few, many = sorted((one, other), key=len)
    return few[among(many, few)]


def among(known: NDArray[Any], asked: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of these are known. What is known is in order."""
    at = np.searchsorted(known, asked)
    at[at == len(known)] = 0
    found: NDArray[np.bool_] = known[at] == asked if len(known) else np.zeros(len(asked), bool)
    return found


def prefixes(found: Hashes) -> NDArray[np.uint32]:
    """The upper halves of hashes: a quarter of their table, and enough to see that a set does not have an id."""
    return (found >> np.uint64(32)).astype("<u4")


def with_live(found: Hashes, sets: Iterable[Callable[[Hashes], NDArray[np.bool_]]], live: Hashes) -> Hashes:
    """The same, with rows of live logs beside sets whose own repeats are known already, each asked which hashes it has."""
    live = np.sort(live)
    again = np.zeros(len(live), bool)
    again[1:] = live[1:] == live[:-1]
    for has in sets:
        again |= has(live)
    return union(found, live[again])
