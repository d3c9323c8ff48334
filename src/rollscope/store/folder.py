"""The files of one run as pieces: what is sealed, and the logs that are not. Looking again reads only what is new."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.errors import CorruptFile
from rollscope.store.live.metrics import Extent
from rollscope.store.live.tail import Tail
from rollscope.store.log import files
from rollscope.store.log.frame import Damage
from rollscope.store.numbers import counters
from rollscope.store.numbers.partial_sums import PartialOf, nothing_more
from rollscope.store.numbers.rows import Rows, Words
from rollscope.store.sealed import repeated_ids
from rollscope.store.sealed.reader import Sealed
from rollscope.store.sealed.select import accepted, listed

from . import sample_ids
from .name_index import Place, of_set, of_tail, places


class Folder:
    def __init__(self, path: str, partials: PartialOf = nothing_more) -> None:
        self.path, self.partials = path, partials
        self.words = Words()
        self.sets: list[Sealed] = []
        self.tails: dict[str, Tail] = {}
        self.version = 0  # grows whenever a look found something
        self.layout = 0  # grows when the sealed sets are others
        self._known: dict[str, Sealed] = {}
        self._lost: dict[str, Damage] = {}  # sets that cannot be opened
        self._repeated: tuple[int, sample_ids.Hashes] = (-1, np.empty(0, np.uint64))
        self._repeated_sealed: tuple[tuple[int, bool], sample_ids.Hashes] = ((-1, False), np.empty(0, np.uint64))
        self._places: tuple[int, dict[str, Place]] = (-1, {})
        self._resumed: tuple[int, dict[int, int]] = (-1, {})
        self._listing: tuple[list[str], list[str]] | None = None

    @cached_property
    def name(self) -> str:
        return os.path.basename(os.path.abspath(self.path))

    def refresh(self) -> bool:
        """Look again; True if anything is new."""
        changed = False
        while (listing := self._list()) != self._listing:  # a log may become a set while we look: until it stands still
            self._listing = listing
            changed |= self._take(*listing)
        for tail in list(self.tails.values()):
            try:
                changed |= tail.refresh()
            except FileNotFoundError:
                return self.refresh() or changed
        self.version += changed
        return changed

    def _list(self) -> tuple[list[str], list[str]]:
        return listed(self.path), files.listed(self.path)

    def _take(self, paths: list[str], logs: list[str]) -> bool:
        before = [found.path for found in self.sets], list(self.tails)
        self._known = {path: self._known[path] for path in paths if path in self._known}
        self.sets, _ = accepted(paths, self.words, self._open)
        sealed = {stem: size for found in self.sets for stem, size in found.sources.items()}
        tails: dict[str, Tail] = {}
        for name in logs:
            start = sealed.get(name.removesuffix(".log"))
            path = os.path.join(self.path, name)
            if start is None:
                tails[name] = (
                    self.tails[name] if name in self.tails and self.tails[name].start == 0 else Tail(path, self.words)
                )
            elif os.path.exists(path) and os.path.getsize(path) > start:  # it grew after it was sealed
                tails[name] = (
                    self.tails[name]
                    if name in self.tails and self.tails[name].start == start
                    else Tail(path, self.words, start)
                )
        self.tails = tails
        after = [found.path for found in self.sets], list(self.tails)
        self.layout += before[0] != after[0]
        return before != after

    def _open(self, path: str) -> Sealed:
        if path not in self._known:
            try:
                self._known[path] = Sealed(path, self.words)
            except CorruptFile as error:
                self._lost[path] = Damage(path, 0, 0, str(error))
                raise
        return self._known[path]

    @property
    def damage(self) -> list[Damage]:
        sealed = [damage for piece in self.sets for damage in piece.damage] + list(self._lost.values())
        return sealed + [damage for tail in self.tails.values() for damage in tail.damage]

    def extents(self) -> Iterator[Extent]:
        yield from (found.extent for found in self.sets)
        yield from (tail.metrics.extent for tail in self.tails.values())

    @property
    def resumed(self) -> dict[int, int]:
        """Attempt -> the first step that is its own, for every attempt after the first: as was said on resuming, else the first it wrote."""
        if self._resumed[0] != self.version:
            first: dict[int, int] = {}
            for extent in self.extents():
                for attempt, step in extent.first.items():
                    first[attempt] = min(step, first.get(attempt, step))
            first.pop(min(first, default=0), None)
            said = {
                a["attempt"]: a["resumed_from"] + 1
                for a in _attempts(self.facts())
                if a.get("resumed_from") is not None
            }
            self._resumed = self.version, first | said
        return self._resumed[1]

    def facts(self) -> dict[str, Any]:
        """`run.json`: what was known when the run began."""
        try:
            with open(os.path.join(self.path, "run.json"), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):  # a run whose first write was cut short is still a run
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def last_step(self) -> int | None:
        found = max((extent.last_step for extent in self.extents()), default=-1)
        return None if found < 0 else found

    @property
    def span(self) -> tuple[int | None, int | None]:
        """When the first and the last thing was written."""
        found = [extent for extent in self.extents() if extent.hi_ns >= 0]
        return min((e.lo_ns for e in found), default=None), max((e.hi_ns for e in found), default=None)

    def repeated(self) -> sample_ids.Hashes:
        """Hashes of the ids that more than one row is about. What was sealed is looked through once; after that, what is new."""
        if self._repeated[0] != self.version:
            live = [tail.sample_hashes() for tail in self.tails.values() if tail.tables("samples")]
            sets = [piece for piece in self.sets if "samples.parquet" in piece.files]
            sealed = self._repeated_in_sets(sets)
            self._repeated = (
                self.version,
                sample_ids.with_live(sealed, [piece.has for piece in sets], np.concatenate(live)) if live else sealed,
            )
        return self._repeated[1]

    def _repeated_in_sets(self, sets: list[Sealed]) -> sample_ids.Hashes:
        key = (self.layout, bool(self.resumed))
        if self._repeated_sealed[0] != key:
            alone = (
                len(sets) < 2 and not self.resumed
            )  # within a set rows about one sample are one, but for those of other attempts
            self._repeated_sealed = key, repeated_ids.repeated([] if alone else sets)
        return self._repeated_sealed[1]

    def places(self) -> dict[str, Place]:
        """Every name, and where it is."""
        if self._places[0] != self.version:
            parts = [of_set(piece) for piece in self.sets] + [of_tail(tail) for tail in self.tails.values()]
            self._places = self.version, places(parts, self.resumed)
        return self._places[1]

    def names(self) -> list[str]:
        return sorted(self.places())

    def rows(self, name: str, last: bool = False) -> Rows:
        """What was logged under a name; with `last`, at least what was logged at its last step."""
        parts = self.places()[name].parts
        if not last or any(part.kind[i] == counters.KIND for part, i in parts):  # a total needs its history
            return Rows.join(
                [
                    part.piece.rows(name) if isinstance(part.piece, Sealed) else part.piece.metrics.rows(name)
                    for part, _ in parts
                ]
            )
        newest = max(int(part.attempt[i]) for part, i in parts)
        end = max(int(part.hi[i]) for part, i in parts if part.attempt[i] == newest)
        pieces = [part.piece for part, i in parts if part.hi[i] >= end]
        return Rows.join(
            [piece.rows(name) if isinstance(piece, Sealed) else piece.metrics.rows(name, end) for piece in pieces]
        )

    def has(self, table: str) -> bool:
        """Has anything been written to a table?"""
        return any(f"{table}.parquet" in piece.files for piece in self.sets) or any(
            tail.tables(table) for tail in self.tails.values()
        )

    def tables(self, name: str) -> list[pa.Table]:
        """The pieces of a table, narrow columns only where they are sealed."""
        sealed = [found for piece in self.sets if (found := piece.table(name)) is not None]
        return sealed + [piece for tail in self.tails.values() for piece in tail.tables(name)]


def _attempts(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The attempts that `run.json` tells of, as far as it makes sense: somebody may have written into it by hand."""
    said = facts.get("attempts")
    known = [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    return [
        one for one in known if isinstance(one.get("attempt"), int) and isinstance(one.get("resumed_from"), int | None)
    ]
