"""Which samples lie in more than one sealed set: written down when a set is made, so that a reader need not compare a million ids to know.

A set remembers the sets it was compared with by the checksum of their `ids.arrow`, that is by what they hold, not by their name. Where neither of two
sets knows the other (two sealers at work at once, many ids in common, a file of an older version) the reader compares their ids.
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
    from .reader import Sealed

KEY = "shared"  # of the manifest
ITSELF = "itself"  # the samples that a set has several rows of: one for each attempt
MOST_SETS = 32  # beyond that sets are about to be merged, and are compared then
MOST_IDS = 256  # in common; more would make the manifest slow to read


def compared(run: str, own: Hashes, sources: Collection[str]) -> dict[str, list[str]]:
    """What the manifest of a set says that is about to join a run's others: name of the other's ids -> what both have."""
    found = {ITSELF: sample_ids.repeated([own])}
    paths = select.listed(run)
    for other in select.accepted(paths, Words())[0] if len(paths) <= MOST_SETS else ():
        with contextlib.suppress(
            Exception
        ):  # merged meanwhile, or not to be read: it is not compared, and is no reason not to seal this one
            if not other.sources.keys() & set(sources) and (name := name_of(other.facts)):
                found[name] = sample_ids.in_both(own, other.hashes)
    return {
        name: [f"{number:016x}" for number in both.tolist()] for name, both in found.items() if len(both) <= MOST_IDS
    }


def name_of(facts: Mapping[str, Any]) -> str | None:
    """Of the ids of a set, from its manifest: the same for the same ids, whatever the set is called."""
    about = facts["sidecars"].get("ids.arrow")
    return None if about is None else f"{about['crc']:08x}.{about['size']}"


def repeated(found: Sequence[Sealed]) -> Hashes:
    """Hashes of the ids that have several rows in these sets."""
    known: list[str] = []
    strangers: dict[str, Sealed] = {
        piece.path: piece for piece in found if len(found) > 2 * MOST_SETS
    }  # so many do not know each other
    told = [(piece, piece.facts.get(KEY, {}), name_of(piece.facts)) for piece in found if not strangers]
    for i, (one, by_one, name) in enumerate(told):
        for other, by_other, other_name in told[i:]:
            both = by_one.get(ITSELF) if one is other else by_one.get(other_name, by_other.get(name))
            if both is None:
                strangers |= {one.path: one, other.path: other}
            else:
                known += both
    rest = sample_ids.repeated([piece.hashes for piece in strangers.values()])
    return sample_ids.union(rest, np.array([int(text, 16) for text in known], np.uint64))
