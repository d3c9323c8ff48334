"""Samples that lie in more than one sealed set.

A sealer compares the ids of a new set with those of the others and stores the result in the
manifest, so a reader need not compare a million ids. The manifest names the other sets by the
checksum of their `ids.arrow`, that is by content, not by folder. If neither of two sets knows the
other (two sealers at once, many ids in common, a file of an older version), the reader compares
their ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rollscope.store import sample_ids
from rollscope.store.numbers.rows import Words
from rollscope.store.sample_ids import Hashes

from . import select

if TYPE_CHECKING:
    from .reader import SealedSet

KEY = "shared"  # of the manifest
ITSELF = "itself"  # samples with several rows in the set itself, one for each attempt
MOST_SETS = 32  # more sets are about to be merged, and are compared then
MOST_IDS = 256  # in common; more would make the manifest slow to read


def compared(run: str, own: Hashes, sources: Collection[str]) -> dict[str, list[str]]:
    """Compare a new set with a run's others: name of the other's ids -> ids in common."""
    common = {ITSELF: sample_ids.repeated([own])}
    paths = select.listed(run)
    for other in select.accepted(paths, Words())[0] if len(paths) <= MOST_SETS else ():
        with contextlib.suppress(Exception):  # an unreadable set is not compared, but does not stop sealing
            if not other.sources.keys() & set(sources) and (name := name_of(other.facts)):
                common[name] = sample_ids.in_both(own, other.hashes)
    return {name: [f"{id:016x}" for id in ids.tolist()] for name, ids in common.items() if len(ids) <= MOST_IDS}


def name_of(facts: Mapping[str, Any]) -> str | None:
    """The name of a set's ids, from its manifest: equal ids have equal names."""
    sidecar = facts["sidecars"].get("ids.arrow")
    return None if sidecar is None else f"{sidecar['crc']:08x}.{sidecar['size']}"


def repeated(sets: Sequence[SealedSet]) -> Hashes:
    """Hashes of the ids that have several rows in these sets."""
    if len(sets) > 2 * MOST_SETS:  # so many do not know each other
        return sample_ids.repeated([sealed.hashes for sealed in sets])
    known: list[str] = []
    uncompared: dict[str, SealedSet] = {}
    facts = [(sealed, sealed.facts.get(KEY, {}), name_of(sealed.facts)) for sealed in sets]
    for i, (one, by_one, name) in enumerate(facts):
        for other, by_other, other_name in facts[i:]:
            common = by_one.get(ITSELF) if one is other else by_one.get(other_name, by_other.get(name))
            if common is None:
                uncompared |= {one.path: one, other.path: other}
            else:
                known += common
    rest = sample_ids.repeated([sealed.hashes for sealed in uncompared.values()])
    return sample_ids.union(rest, np.array([int(text, 16) for text in known], np.uint64))
