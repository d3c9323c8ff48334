"""Findings of every run, counted by severity, for the list of runs.

Runs are diagnosed in the background, newest first; those of a lake once somebody has read their
samples, since a diagnosis reads them all. The counts of a run that is over are kept in the
index beside the runs until something in its folder changes, so it is diagnosed once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rollscope.diagnose import Finding
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.errors import RollscopeError
from rollscope.server.doctor import Doctor
from rollscope.server.library import Library
from rollscope.store.listing.entries import Entry, Marks
from rollscope.store.listing.index import Index
from rollscope.store.listing.records import index_row
from rollscope.store.sealed import elsewhere

log = logging.getLogger("rollscope.server")
SEVERITIES = ("bad", "watch", "info")
Counts = dict[str, int]
NEWS_SECONDS = 5.0  # between two events while many runs are read
RENEW_SECONDS = 15.0  # between two looks at the findings of living runs
WAIT_SECONDS = 600.0  # for the diagnosis of one run
REST = 2.0  # times as long as a diagnosis took: the other requests go on


@dataclass(frozen=True, slots=True)
class Kept:
    """Counts, and what they were made of."""

    marks: Marks
    findings: list[Finding] | None  # None: they came from the index
    counts: Counts


class FindingCounts:
    """Several requests and one thread in the background may ask at once."""

    def __init__(self, library: Library, doctor: Doctor, is_living: Callable[[str], bool]) -> None:
        self.library, self.doctor, self.is_living = library, doctor, is_living
        self._asked = 0.0  # when the list was last asked for
        self._kept: dict[str, Kept] = {}
        self._tried: dict[str, Marks] = {}
        self._missing: dict[str, Marks] = {}  # runs that the index does not have
        self._index: Index | None = None
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._closed = False

    def of(self, entry: Entry) -> Counts | None:
        """Open findings by severity; None before the first diagnosis, which then begins."""
        self._asked = time.monotonic()
        known, kept = self.doctor.known(entry.id), self._kept.get(entry.id)
        if kept is not None and kept.marks == entry.marks and kept.findings is known:
            return kept.counts
        if known is None and self._missing.get(entry.id) == entry.marks:
            return None
        counts = self._indexed(entry) if known is None else self._counted(entry, known)
        if counts is None:
            self._missing[entry.id] = entry.marks
            self._wanted.set()
        return counts

    def work(self, tell: Callable[[], None]) -> None:
        """Diagnose every run that needs it, newest first, until `close()`; tell of new counts.

        While the list is looked at, the findings of living runs are renewed too.
        """
        while not self._closed:
            if self._wanted.wait(RENEW_SECONDS):
                self._wanted.clear()
                self._read_all(tell)
            elif time.monotonic() - self._asked < RENEW_SECONDS * 2 and self._renewed():
                tell()

    def _read_all(self, tell: Callable[[], None]) -> None:
        unread, told = self._unread(), time.monotonic()
        for entry in sorted(unread, key=lambda entry: entry.marks, reverse=True):
            self._diagnose(entry)
            if time.monotonic() - told > NEWS_SECONDS:
                told = time.monotonic()
                tell()
        if unread:
            self._save()
            tell()

    def _renewed(self) -> bool:
        """Ask for new diagnoses of living runs; True if one has other findings than are shown."""
        ids = [entry.id for entry in self.library.entries() if self.is_living(entry.id)]
        return any(
            [self.doctor.findings(id) is not kept.findings for id in ids if (kept := self._kept.get(id)) is not None]
        )

    def close(self) -> None:
        self._closed = True
        self._wanted.set()

    def _unread(self) -> list[Entry]:
        entries = [entry for entry in self.library.entries() if self._tried.get(entry.id) != entry.marks]
        unread = [entry for entry in entries if self.of(entry) is None and not elsewhere.lacks(entry.path)]
        self._wanted.clear()
        return unread

    def _diagnose(self, entry: Entry) -> None:
        """Diagnose a run and count. A run that cannot be read stays without counts."""
        if self._closed:
            return
        self._tried[entry.id] = entry.marks
        try:
            findings = self.doctor.findings(entry.id, WAIT_SECONDS)
            counts = None if findings is None else self._counted(entry, findings)
            if counts is not None:
                self._keep(entry, counts)
        except Exception:
            log.exception("the findings of %s could not be counted", entry.id)
        time.sleep(REST * self.doctor.took(entry.id))

    def _counted(self, entry: Entry, findings: list[Finding]) -> Counts | None:
        try:
            with self.library.reading(entry.id) as run:
                run.check_readable()
                open_ones = open_findings(findings, run.remember("hidden", lambda: hidden(run)))
        except RollscopeError:  # the run is gone, or cannot be read any more
            return None
        counts = {severity: sum(f.severity == severity for f in open_ones) for severity in SEVERITIES}
        self._kept[entry.id] = Kept(entry.marks, findings, counts)
        return counts

    def _keep(self, entry: Entry, counts: Counts) -> None:
        with self.library.reading(entry.id) as run:
            row = index_row(entry, run, {"state": run.state, "findings": counts})
        if row is not None:
            with self._lock:
                self._rows().add(entry, row)

    def _indexed(self, entry: Entry) -> Counts | None:
        with self._lock:
            row = self._rows().get(entry)
        counts = None if row is None else row.value.get("findings")
        if counts is None or not _is_counts(counts):
            return None
        self._kept[entry.id] = Kept(entry.marks, None, counts)
        return dict(counts)

    def _rows(self) -> Index:
        if self._index is None:
            self._index = Index(self.library.path, "findings")
        return self._index

    def _save(self) -> None:
        with self._lock:
            self._rows().save()


def _is_counts(value: Any) -> bool:
    """True if a value that was stored is counts: the file may hold anything."""
    return isinstance(value, dict) and all(isinstance(value.get(severity), int) for severity in SEVERITIES)
