"""Compaction: merge sealed sets of about one size, so a long run or one of many ranks reads fast.

Merging is as safe as sealing. A merged set lists every log it contains; a reader takes the largest
sets first and skips a set whose logs it has already. Before the old sets are removed, the folder is
listed once more: if another process merged some of the same logs into a different set, one of the
two sees the other and removes its own.
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
from rollscope.store.sealed.select import accepted, let_go_of, listed

from . import streams
from .publish import remove_set, write_set

TIER = 8  # this many sets of one size class become one
LARGEST = 1 << 29  # bytes: merging larger sets gains nothing, and no merge reads more


def size(sealed: SealedSet) -> int:
    return sum(int(facts["size"]) for facts in sealed.facts["files"].values())


def compact(run: str, everything: bool = False, progress: Callable[[int, int], None] | None = None) -> int:
    """Merge until no size class is full; return how many sets are left.

    With `everything`, merge until one set is left. `progress(done, total)` is called after each
    merge.
    """
    words = Words()
    sets, spare = accepted(listed(run), words)
    for sealed in spare:
        remove_set(sealed.path)
    done = 0
    damaged: list[SealedSet] = []  # stay as they are: a reader salvages the rest
    while chosen := _choose([sealed for sealed in sets if sealed not in damaged], everything):
        try:
            damaged += [sealed for sealed in chosen if not sealed.is_sound()]
            if set(damaged) & set(chosen):
                continue
            merged = merge_sets(run, chosen, words)
        except FileNotFoundError:  # another process merged some of these
            break
        if merged is None:
            break
        sets = [sealed for sealed in sets if sealed not in chosen] + [merged]
        done += 1
        if progress:
            progress(done, done + bool(_choose(sets, everything)))
    return len(sets)


def _choose(sets: Sequence[SealedSet], everything: bool) -> list[SealedSet]:
    """The sets to merge next; none if there is nothing to do."""
    small = sorted((sealed for sealed in sets if size(sealed) < LARGEST // 2), key=lambda s: s.extent.lo_ns)
    if everything:
        return _within(small)
    tiers: dict[int, list[SealedSet]] = {}
    for sealed in small:
        tiers.setdefault(int(math.log(size(sealed) + 1, TIER)), []).append(sealed)
    full = [tier for tier in tiers.values() if len(tier) >= TIER]
    return _within(full[0]) if full else []


def _within(sets: Sequence[SealedSet]) -> list[SealedSet]:
    """The oldest of these sets that together are not too large; none if there are not two."""
    total = np.cumsum([size(sealed) for sealed in sets])
    chosen = list(sets[: max(2, int(np.searchsorted(total, LARGEST, "right")))])
    return chosen if len(chosen) > 1 else []


def merge_sets(run: str, sets: Sequence[SealedSet], words: Words) -> SealedSet | None:
    """Replace several sets by one; None if another process is merging them too."""
    sources = {stem: size for sealed in sets for stem, size in sealed.sources.items()}
    stem = "merged." + hashlib.blake2b("\n".join(sorted(sources)).encode(), digest_size=8).hexdigest()
    write_set(run, stem, streams.metrics_of(sets), words, tables_of(sets), facts_of(sets, sources))
    path = os.path.join(run, stem + manifest.SUFFIX)
    ours = {sealed.path for sealed in sets}
    others = [other.sources.keys() for other in accepted(listed(run), words)[1] if other.path not in ours]
    if any(logs & sources.keys() and logs - sources.keys() for logs in others):
        remove_set(path)
        return None
    for sealed in sets:
        remove_set(sealed.path)
    return SealedSet(path, words)


def tables_of(sets: Sequence[SealedSet]) -> dict[str, streams.Stream]:
    names = sorted({name.split(".")[0] for sealed in sets for name in sealed.files} - {"metrics"})
    return {name: streams.of_sets(name, sets) for name in names}


def facts_of(sets: Sequence[SealedSet], sources: dict[str, int]) -> dict[str, Any]:
    """The facts of the merged set's manifest."""
    newest = max(sets, key=lambda sealed: sealed.extent.hi_ns)
    return {
        "sources": sources,
        "writers": {stem: facts for sealed in sets for stem, facts in sealed.facts["writers"].items()},
        "extent": _extent(sets),
        "declared": newest.facts.get("declared", {}),
        "damage": [damage for sealed in sets for damage in sealed.facts["damage"]],
        **({"let_go": gone} if (gone := let_go_of(sets)) else {}),
    }


def _extent(sets: Sequence[SealedSet]) -> dict[str, Any]:
    extents = [sealed.extent for sealed in sets]
    first: dict[str, int] = {}
    for extent in extents:
        for attempt, step in extent.first.items():
            first[str(attempt)] = min(step, first.get(str(attempt), step))
    return {
        "first": first,
        "last_step": max(extent.last_step for extent in extents),
        "lo_ns": min(extent.lo_ns for extent in extents),
        "hi_ns": max(extent.hi_ns for extent in extents),
    }
