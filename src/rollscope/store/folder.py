"""The files of one run: its sealed sets, and the logs that are not sealed yet.

A second look at the folder reads only new bytes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.errors import CorruptFile
from rollscope.store.live.metrics import Extent
from rollscope.store.live.tail import Tail
from rollscope.store.log import files
from rollscope.store.log.frame import Damage
from rollscope.store.names.locations import Location, NameLocations
from rollscope.store.numbers import counters
from rollscope.store.numbers.partial_sums import PartialOf, nothing_more
from rollscope.store.numbers.rows import Rows, Words, batch_bounds
from rollscope.store.sealed import repeated_ids
from rollscope.store.sealed.coverage import covered
from rollscope.store.sealed.reader import SealedSet
from rollscope.store.sealed.select import accepted, listed

from . import regular_file, run_json, sample_ids, sampled

PIECE = 200_000  # metric rows that are read at once


class Folder:
    def __init__(self, path: str, partials: PartialOf = nothing_more) -> None:
        self.path, self.partials = path, partials
        self.words = Words()
        self.sets: list[SealedSet] = []
        self.tails: dict[str, Tail] = {}
        self.version = 0  # grows whenever a look finds something new
        self.layout = 0  # grows when the list of sealed sets changes
        self._opened: dict[str, SealedSet] = {}
        self._lost: dict[str, Damage] = {}  # sets and logs that cannot be opened
        self._facts_damage: list[Damage] = []  # of `run.json`, when it was last read
        self._repeated: tuple[int, sample_ids.Hashes] = (-1, np.empty(0, np.uint64))
        self._repeated_sealed: tuple[tuple[int, bool], sample_ids.Hashes] = ((-1, False), np.empty(0, np.uint64))
        self._names = NameLocations()
        self._locations: tuple[int, dict[str, Location]] = (-1, {})
        self._resumed: tuple[int, dict[int, int]] = (-1, {})
        self._run_rows: tuple[int, list[dict[str, Any]]] = (-1, [])
        self._times: tuple[int, tuple[int | None, int | None]] = (-1, (None, None))  # of samples
        self._listing: tuple[list[str], list[str]] | None = None

    @cached_property
    def name(self) -> str:
        return os.path.basename(os.path.abspath(self.path))

    # ---- looking at the files

    def refresh(self) -> bool:
        """Look again; True if anything is new."""
        changed = False
        while (listing := self._list()) != self._listing:  # a log may be sealed meanwhile: until nothing changes
            changed |= self._take(*listing)
            self._listing = listing  # only now: a look that failed is repeated
        for tail in list(self.tails.values()):
            try:
                changed |= self._grown(tail)
            except FileNotFoundError:
                return self.refresh() or changed
        self.version += changed
        return changed

    def _list(self) -> tuple[list[str], list[str]]:
        return listed(self.path), files.listed(self.path)

    def _grown(self, tail: Tail) -> bool:
        """True if a log has new rows. A log that cannot be read costs itself alone."""
        try:
            grew = tail.refresh()
            self._lost.pop(tail.path, None)
        except OSError as error:
            if not regular_file.is_lasting(error):
                raise
            self._lost[tail.path] = Damage(tail.path, tail.offset, 0, regular_file.why(error))
            return False
        return grew

    def _take(self, paths: list[str], logs: list[str]) -> bool:
        """Take over a new listing; True if sets or tails changed."""
        sets_before, tails_before = [sealed.path for sealed in self.sets], list(self.tails)
        self._opened = {path: self._opened[path] for path in paths if path in self._opened}
        self.sets, _ = accepted(paths, self.words, self._open)
        tails = {name: self._tail(name, covered(self.sets, name.removesuffix(".log"))) for name in logs}
        self.tails = {name: tail for name, tail in tails.items() if tail is not None}
        sets_changed = sets_before != [sealed.path for sealed in self.sets]
        self.layout += sets_changed
        return sets_changed or tails_before != list(self.tails)

    def _tail(self, name: str, start: int) -> Tail | None:
        """The part of a log that is not sealed: all of it, or bytes written after it was sealed."""
        path = os.path.join(self.path, name)
        if start and _size(path) <= start:
            return None
        known = self.tails.get(name)
        return known if known is not None and known.start == start else Tail(path, self.words, start)

    def _open(self, path: str) -> SealedSet:
        if path not in self._opened:
            try:
                self._opened[path] = SealedSet(path, self.words)
            except CorruptFile as error:
                self._lost[path] = Damage(path, 0, 0, str(error))
                raise
        return self._opened[path]

    # ---- the run as a whole

    @property
    def damage(self) -> list[Damage]:
        in_sets = [damage for sealed in self.sets for damage in sealed.damage]
        in_sets += [*self._lost.values(), *self._facts_damage]
        return in_sets + [damage for tail in self.tails.values() for damage in tail.damage]

    def is_empty(self) -> bool:
        """True if nothing can be read: no set, no row of a log, and no fact of `run.json`."""
        return not self.sets and not any(tail.offset for tail in self.tails.values()) and not self.facts()

    def extents(self) -> Iterator[Extent]:
        yield from (sealed.extent for sealed in self.sets)
        yield from (tail.metrics.extent for tail in self.tails.values())

    @property
    def resumed(self) -> dict[int, int]:
        """Attempt -> its first step, for every attempt after the first.

        `run.json` tells where an attempt resumed; otherwise it is the first step the attempt wrote.
        """
        if self._resumed[0] != self.version:
            first: dict[int, int] = {}
            for extent in self.extents():
                for attempt, step in extent.first.items():
                    first[attempt] = min(step, first.get(attempt, step))
            first.pop(min(first, default=0), None)
            attempts = _attempts(self.facts())
            recorded = {a["attempt"]: a["resumed_from"] + 1 for a in attempts if a.get("resumed_from") is not None}
            self._resumed = self.version, first | recorded
        return self._resumed[1]

    def facts(self) -> dict[str, Any]:
        """`run.json`: the facts known when the run began. Without them a run is still a run."""
        facts, self._facts_damage = run_json.read(self.path)
        return facts

    def run_rows(self) -> list[dict[str, Any]]:
        """The rows of the runs table, which several facts of a run are made from."""
        if self._run_rows[0] != self.version:
            self._run_rows = self.version, [row for table in self.tables("runs") for row in table.to_pylist()]
        return self._run_rows[1]

    @property
    def last_step(self) -> int | None:
        """The last step of a metric; of a run without any, that of a sample or a span."""
        last = max((extent.last_step for extent in self.extents()), default=-1)
        last = self.last_sampled_step if last < 0 else last
        return None if last < 0 else last

    @property
    def last_sampled_step(self) -> int:
        """The last step of a sample or a span; -1 if none has a step."""
        return sampled.last_step(self._files())

    @property
    def time_range(self) -> tuple[int | None, int | None]:
        """The times of the first and the last metric; of a run without any, of its samples."""
        known = [extent for extent in self.extents() if extent.hi_ns >= 0]
        if not known:
            return self._sampled_times()
        return min(e.lo_ns for e in known), max(e.hi_ns for e in known)

    def _sampled_times(self) -> tuple[int | None, int | None]:
        if self._times[0] != self.version:
            self._times = self.version, sampled.time_range(self._files())
        return self._times[1]

    def _files(self) -> list[SealedSet | Tail]:
        return [*self.sets, *self.tails.values()]

    # ---- samples that have several rows

    def repeated(self) -> sample_ids.Hashes:
        """Hashes of ids that have several rows. Sealed ids are compared only once."""
        if self._repeated[0] != self.version:
            live = [tail.sample_hashes() for tail in self.tails.values() if tail.parts("samples")]
            sets = [sealed for sealed in self.sets if "samples.parquet" in sealed.files]
            hashes = self._repeated_in_sets(sets)
            if live:
                hashes = sample_ids.with_live(hashes, [sealed.has for sealed in sets], np.concatenate(live))
            self._repeated = self.version, hashes
        return self._repeated[1]

    def _repeated_in_sets(self, sets: list[SealedSet]) -> sample_ids.Hashes:
        key = (self.layout, bool(self.resumed))
        if self._repeated_sealed[0] != key:
            # within a set a sample has one row per attempt, so a single set needs no look
            alone = len(sets) < 2 and not self.resumed
            self._repeated_sealed = key, repeated_ids.repeated([] if alone else sets)
        return self._repeated_sealed[1]

    # ---- names and tables

    def locations(self) -> dict[str, Location]:
        """Every name, and where it lies."""
        if self._locations[0] != self.version:
            version = self.version
            self._locations = version, self._names.look(self.sets, list(self.tails.values()), self.resumed)
        return self._locations[1]

    def names(self) -> list[str]:
        return sorted(self.locations())

    def rows(self, name: str, last: bool = False) -> Rows:
        """The rows of a name; with `last`, at least those of its last step."""
        parts, since = self.locations()[name].parts, None
        if last and all(part.kind[i] != counters.KIND for part, i in parts):  # a total needs its history
            newest = max(int(part.attempt[i]) for part, i in parts)
            since = max(int(part.hi[i]) for part, i in parts if part.attempt[i] == newest)
            parts = [(part, i) for part, i in parts if part.hi[i] >= since]
        return Rows.join([_rows(part.file, name, since) for part, _ in parts])

    def rows_together(self, names: Collection[str]) -> Iterator[tuple[str, Rows]]:
        """The rows of those names that lie side by side in the only file they are in.

        Thousands of names are read in a few pieces; the others are left to `rows`.
        """
        places = self.locations()
        for sealed in self.sets:
            mine = {name for name in names if [part.file for part, _ in places[name].parts] == [sealed]}
            wanted = np.array([name in mine for name in sealed.names], bool)
            counts = sealed.columns["rows"] if len(wanted) else np.empty(0, np.int64)
            for lo, hi in batch_bounds(counts, PIECE):
                if 2 * counts[lo:hi][wanted[lo:hi]].sum() > counts[lo:hi].sum():
                    named = sealed.some_names(lo, hi)
                    ends = np.cumsum(counts[lo:hi])
                    for i in np.flatnonzero(wanted[lo:hi]).tolist():
                        yield named.names[i], named.rows.take(np.arange(ends[i] - counts[lo + i], ends[i]))

    def has(self, table: str) -> bool:
        """True if any row was written to a table."""
        sealed = any(f"{table}.parquet" in sealed.files for sealed in self.sets)
        return sealed or any(tail.parts(table) for tail in self.tails.values())

    def tables(self, name: str) -> list[pa.Table]:
        """The parts of a table, one or more per file; only narrow columns of sealed sets."""
        parts = [rows for sealed in self.sets if (rows := sealed.table(name)) is not None]
        return parts + [rows for tail in self.tails.values() for rows in tail.tables(name)]


def _size(path: str) -> int:
    """The bytes of a log; 0 if a sealer has just removed it."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _rows(file: SealedSet | Tail, name: str, since: int | None) -> Rows:
    return file.rows(name) if isinstance(file, SealedSet) else file.metrics.rows(name, since)


def _attempts(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The valid attempts of `run.json`, which people may have edited by hand."""
    attempts = facts.get("attempts")
    dicts = [item for item in attempts if isinstance(item, dict)] if isinstance(attempts, list) else []
    return [a for a in dicts if isinstance(a.get("attempt"), int) and isinstance(a.get("resumed_from"), int | None)]
