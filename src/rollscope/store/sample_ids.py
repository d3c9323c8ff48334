"""Hashed ids of samples: each sealed set stores them, to find a sample and to see repeated ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def hashes(ids: Iterable[str | None]) -> Hashes:
    """A stable 64-bit number per id."""
    import hashlib  # loads OpenSSL, which reading a sealed set does not need

    digest = b"".join(
        hashlib.blake2b((id or "").encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids
    )
    return np.frombuffer(digest, np.uint64)


def index(hashes: Hashes) -> pa.Table:
    """Hashes in order, each with its row number."""
    order = np.argsort(hashes, kind="stable")
    return pa.table({"hash": hashes[order], "row": order.astype(np.int64)})


def repeated(parts: Iterable[NDArray[Any]]) -> Hashes:
    """Hashes that occur more than once, over all parts."""
    joined = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))
    again = joined[1:][joined[1:] == joined[:-1]]
    return np.unique(again) if len(again) else again


def union(one: Hashes, other: Hashes) -> Hashes:
    """All hashes, once each. Two empty arrays skip numpy's union, which imports masked arrays."""
    return np.union1d(one, other) if len(one) or len(other) else one


def in_both(one: Hashes, other: Hashes) -> Hashes:
    """Hashes that two sorted arrays have in common."""
    few, many = sorted((one, other), key=len)
    return few[among(many, few)]


def among(known: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are in the sorted array `known`."""
    if not len(known):
        return np.zeros(len(values), bool)
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    present: NDArray[np.bool_] = known[at] == values
    return present


def prefixes(hashes: Hashes) -> NDArray[np.uint32]:
    """The upper halves of hashes: a quarter of their table, and enough to rule an id out."""
    return (hashes >> np.uint64(32)).astype("<u4")


def with_live(sealed: Hashes, sets: Iterable[Callable[[Hashes], NDArray[np.bool_]]], live: Hashes) -> Hashes:
    """Repeated hashes over sealed sets and live logs.

    `sealed` are those repeated among the sets; `sets` tell which hashes each set has.
    """
    live = np.sort(live)
    again = np.zeros(len(live), bool)
    again[1:] = live[1:] == live[:-1]
    for has in sets:
        again |= has(live)
    return union(sealed, live[again])
