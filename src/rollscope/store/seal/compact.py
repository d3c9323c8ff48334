"""Few files: sealed sets of about one size are merged into a larger one, so that a long run or one of many ranks stays quick to read.

Merging is as safe as sealing. A merged set lists every log it stands for; a reader takes the largest sets first and skips a set whose
logs it has already. Before the old sets are removed the folder is looked at once more: had another process merged some of the same
logs into a different set, one of the two sees the other and takes its own back.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rollscope.store.numbers.rows import Words
from rollscope.store.sealed import manifest
from rollscope.store.sealed.reader import SealedSet
from rollscope.store.sealed.select import accepted, listed

from . import streams
from .publish import remove_set, write_set

TIER = 8  # this many sets of one size class become one
LARGEST = 1 << 29  # bytes of a set beyond which merging buys nothing, and of what is merged at once


def size(found: SealedSet) -> int:
    return sum(int(facts["size"]) for facts in found.facts["files"].values())


def compact(run: str, everything: bool = False, progress: Callable[[int, int], None] | None = None) -> int:
    """Merge until no size class is full (or, with `everything`, until one set is left); how many sets are left."""
    words = Words()
    read, spare = accepted(listed(run), words)
    for found in spare:
        remove_set(found.path)
    done = 0
    damaged: list[SealedSet] = []  # what is left of such a set is read as it is
    while chosen := _choose([found for found in read if found not in damaged], everything):
        try:
            damaged += [found for found in chosen if not found.is_sound()]
            if set(damaged) & set(chosen):
                continue
            merged = merge_sets(run, chosen, words)
        except FileNotFoundError:  # another process has merged some of these
            break
        if merged is None:
            break
        read = [found for found in read if found not in chosen] + [merged]
        done += 1
        if progress:
            progress(done, done + bool(_choose(read, everything)))
    return len(read)


def _choose(sets: Sequence[SealedSet], everything: bool) -> list[SealedSet]:
    small = sorted((found for found in sets if size(found) < LARGEST // 2), key=lambda found: found.extent.lo_ns)
    if everything:
        return _within(small)
    tiers: dict[int, list[SealedSet]] = {}
    for found in small:
        tiers.setdefault(int(math.log(size(found) + 1, TIER)), []).append(found)
    full = [tier for tier in tiers.values() if len(tier) >= TIER]
    return _within(full[0]) if full else []


def _within(sets: Sequence[SealedSet]) -> list[SealedSet]:
    """The oldest of these sets that together are not too large; none if there are not two."""
    total = np.cumsum([size(found) for found in sets])
    chosen = list(sets[: max(2, int(np.searchsorted(total, LARGEST, "right")))])
    return chosen if len(chosen) > 1 else []


def merge_sets(run: str, sets: Sequence[SealedSet], words: Words) -> SealedSet | None:
    """One set in place of several, or None when another process is at it."""
    sources = {stem: size for found in sets for stem, size in found.sources.items()}
    stem = "merged." + hashlib.blake2b("\n".join(sorted(sources)).encode(), digest_size=8).hexdigest()
    write_set(run, stem, streams.metrics_of(sets), words, _tables(sets), _facts(sets, sources))
    path = os.path.join(run, stem + manifest.SUFFIX)
    others = [other for other in accepted(listed(run), words)[1] if other.path not in {found.path for found in sets}]
    if any(other.sources.keys() - sources.keys() for other in others if other.sources.keys() & sources.keys()):
        remove_set(path)
        return None
    for found in sets:
        remove_set(found.path)
    return SealedSet(path, words)


def _tables(sets: Sequence[SealedSet]) -> dict[str, streams.Stream]:
    names = sorted({name.split(".")[0] for found in sets for name in found.files} - {"metrics"})
    return {name: streams.of_sets(name, sets) for name in names}


def _facts(sets: Sequence[SealedSet], sources: dict[str, int]) -> dict[str, Any]:
    first: dict[str, int] = {}
    for found in sets:
        for attempt, step in found.extent.first.items():
            first[str(attempt)] = min(step, first.get(str(attempt), step))
    extents = [found.extent for found in sets]
    return {
        "sources": sources,
        "writers": {stem: facts for found in sets for stem, facts in found.facts["writers"].items()},
        "extent": {
            "first": first,
            "last_step": max(e.last_step for e in extents),
            "lo_ns": min(e.lo_ns for e in extents),
            "hi_ns": max(e.hi_ns for e in extents),
        },
        "declared": max(sets, key=lambda found: found.extent.hi_ns).facts.get("declared", {}),
        "damage": [damage for found in sets for damage in found.facts["damage"]],
    }
