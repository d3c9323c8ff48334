"""The rows of the Runs page, kept so that an answer opens no run that is over.

A row of a run that is over is kept, in memory as JSON and in the index beside the runs, until
something in the run's folder changes. The row of a living run is read again when its files have
changed, and every two seconds. While a large store is read for the first time, an answer has the
newest runs and says how many are still to come.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable

from rollscope.server.library import CROWDED_SECONDS, Busy, Library
from rollscope.store.listing import unreadable
from rollscope.store.listing.entries import Entry
from rollscope.store.listing.index import Index, Row, is_current
from rollscope.store.listing.records import index_row
from rollscope.store.run import Run
from rollscope.views.summary.run_row import colour_slots, is_row, run_row, unreadable_row

from .page import Kept, kept_row
from .shared import Shared

log = logging.getLogger("rollscope.server")
AT_LEAST = 100  # runs that an answer reads, however long it takes
PATIENCE = 1.0  # seconds after which the others are left for the next answer
STILL_SECONDS = 2.0  # a living run whose files do not change is read again: silence may end it
BUSY_SECONDS = 0.2  # a living run that another request uses for longer is shown as it was
SLOT_SECONDS = 5.0  # a page of a run need not look at all others
MANY = 8  # answers within a second: more than the pages of one person ask for
NEWS_SECONDS = 2.0  # between two events while a large store is read


class RunRows:
    """The rows of a library. Several requests and a thread in the background may ask at once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._pages: Shared[bytes] = Shared()
        self._kept: dict[str, Kept] = {}
        self._living: dict[str, Kept] = {}  # the last rows of runs that are not over
        self._looked: dict[str, tuple[tuple[float, int], float]] = {}  # the files they were read from, and when
        self._asked: deque[float] = deque(maxlen=MANY)  # when answers were last asked for
        self._index: Index | None = None
        self._reading = threading.Lock()  # one run is read at a time, so that none is read twice
        self._slots: dict[str, int] = {}
        self._coloured = 0.0  # when the slots were last made
        self._closed = False
        self._incomplete = False  # the last answer lacked some runs
        self._told = 0  # events after which an answer must be newer than they are

    # ---- the answer

    def answer(self, asked: Hashable, make: Callable[[], bytes]) -> bytes:
        """An answer that `make` makes of the rows: in a crowd one of up to a second ago.

        It is never older than the last run that came, went or ended, nor than anything else that
        `asked` names.
        """
        now, key = time.monotonic(), (asked, self._told, tuple(self.library.ids()))
        self._asked.append(now)
        if self._is_crowded(now):
            return self._pages.recent(key, make, CROWDED_SECONDS)
        return self._pages.get(key, make)

    def told(self) -> None:
        """Pages are told that the list has changed: no answer from before it is given again."""
        self._told += 1

    # ---- rows

    def rows(self) -> tuple[list[Kept], int]:
        """The row of every run, as far as it is known within a second, and how many are not."""
        began = time.monotonic()
        rows, unknown = self._known()
        for count, entry in enumerate(unknown):
            if count >= AT_LEAST and time.monotonic() - began > PATIENCE:
                self._incomplete = True
                return rows, len(unknown) - count
            rows.append(self._row(entry))
        self._incomplete = False
        self._save()
        return rows, 0

    def slot(self, id: str) -> int:
        """The colour of a run among the runs whose rows are known."""
        if id not in self._slots or time.monotonic() - self._coloured > SLOT_SECONDS:
            self._slots, self._coloured = colour_slots([kept.facts for kept in self.rows()[0]]), time.monotonic()
        return self._slots.get(id, 0)

    def is_over(self, id: str) -> bool:
        """True if nothing but a change of its folder can change the run's row, which is kept."""
        kept = self._kept.get(id)
        return kept is not None and not kept.row.may_grow

    def is_living(self, id: str) -> bool:
        """True if the run was running when its row was last read."""
        living = self._living.get(id)
        return living is not None and living.state == "running"

    def forget(self, id: str) -> None:
        """Read a run's row again when it is next asked for."""
        self._kept.pop(id, None)
        self.told()

    def ended(self, id: str) -> None:
        """A run is no longer running: the next answer waits for its row, however busy it is."""
        self._living.pop(id, None)
        self._looked.pop(id, None)
        self.told()

    def heard(self, id: str) -> float:
        """When a file of a run that is over last grew, in seconds since the epoch."""
        kept = self._kept.get(id)
        return 0.0 if kept is None else kept.heard_ns / 1e9

    def fill(self, tell: Callable[[], None]) -> None:
        """Read every row that is not known, newest first; tell of them if an answer lacked any."""
        told = time.monotonic()
        for entry in self._known()[1]:
            if self._closed:
                return
            self._row(entry)
            if self._incomplete and time.monotonic() - told > NEWS_SECONDS:
                told = time.monotonic()
                tell()
        self._save()
        if self._incomplete:
            tell()

    def close(self) -> None:
        self._closed = True

    # ---- one row

    def _known(self) -> tuple[list[Kept], list[Entry]]:
        """Rows that are current, and the runs that must be read, newest first."""
        rows, unknown = [], []
        entries = self.library.entries()
        for entry in entries:
            kept = self._current(entry)
            rows.append(kept) if kept is not None else unknown.append(entry)
        for id in (self._kept.keys() | self._living.keys()) - {entry.id for entry in entries}:
            self._kept.pop(id, None)
            self.ended(id)
        return rows, sorted(unknown, key=lambda entry: entry.marks, reverse=True)

    def _current(self, entry: Entry) -> Kept | None:
        """The kept row, or the one in the index, if the run's folder is as it was."""
        kept = self._kept.get(entry.id)
        if kept is not None and is_current(kept.row, entry):
            return kept
        self._kept.pop(entry.id, None)
        row = self._rows().get(entry)
        if row is None or not is_row(row.value.get("row"), entry.id):
            return None
        return self._keep(row)

    def _rows(self) -> Index:
        if self._index is None:
            self._index = Index(self.library.path, "rows")
        return self._index

    def _row(self, entry: Entry) -> Kept:
        """Read a run. Whatever is wrong with it, it has a row that says so."""
        with self._reading:
            kept = self._kept.get(entry.id)  # another request may have read it meanwhile
            if kept is not None and is_current(kept.row, entry):
                return kept
            try:
                return self._read(entry)
            except Exception as error:
                if not isinstance(error, OSError):
                    log.info("the run %s cannot be listed", entry.id, exc_info=True)
                return kept_row(unreadable_row(entry.id, unreadable.sentence(entry.id, entry.problem or error)), None)

    def _read(self, entry: Entry) -> Kept:
        if entry.problem:
            raise PermissionError(entry.problem)
        now, living, looked = time.monotonic(), self._living.get(entry.id), self._looked.get(entry.id)
        files = self.library.fingerprint(entry.id)
        if living is not None and looked is not None and looked[0] == files and now - looked[1] < STILL_SECONDS:
            return living
        made = self._read_now(entry, files[0] * 1e9, living)
        if made is not living and time.time() - files[0] > CROWDED_SECONDS:  # a reader may not have seen it yet
            self._looked[entry.id] = files, now
        return made

    def _is_crowded(self, now: float) -> bool:
        """True if many ask: then an answer of up to a second ago will do."""
        return len(self._asked) == MANY and now - self._asked[0] < CROWDED_SECONDS

    def _read_now(self, entry: Entry, heard_ns: float, living: Kept | None) -> Kept:
        if living is not None or self.library.is_open(entry.id):
            try:
                with self.library.reading(entry.id, -1 if living is None else BUSY_SECONDS) as run:
                    return self._made(entry, run, heard_ns)
            except Busy:
                if living is not None:
                    return living
                raise
        run = self.library.store().read(entry.id)
        try:
            return self._made(entry, run, heard_ns)
        finally:
            run.close()

    def _made(self, entry: Entry, run: Run, heard_ns: float) -> Kept:
        """The row of a run, kept and indexed if the run is over."""
        run.check_readable()
        row = {**run.remember("row", lambda: run_row(entry.id, run)), "heard_ns": heard_ns}
        row["state"] = run.state if row["state"] == "running" else row["state"]  # killed by silence
        indexed = index_row(entry, run, {"state": row["state"], "row": row})
        self._living.pop(entry.id, None)
        if indexed is None:
            living = self._living[entry.id] = kept_row(row, None)
            return living
        self._rows().add(entry, indexed)
        return self._keep(indexed)

    def _keep(self, row: Row) -> Kept:
        kept = self._kept[row.value["row"]["id"]] = kept_row(row.value["row"], row)
        return kept

    def _save(self) -> None:
        with self._reading:
            self._rows().save()
