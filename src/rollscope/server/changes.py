"""Find what changed in a folder of thousands of runs without looking at all of them all the time.

A run that may be written to is looked at each time. Of a run that is over only the time of its
folder is looked at, and only of as many as take a few milliseconds, in turn: a run that is resumed,
or gets a note, is noticed when its turn comes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rollscope.server.listing.run_rows import RunRows
from rollscope.store.listing.entries import folders, is_run

from .library import Library

HOT_SECONDS = 600.0  # a run that changed within them may be written to, whatever its row says
TURN_SECONDS = 0.004  # that a look spends on runs that are over
AT_LEAST = 2  # of them, however busy the machine is
LIST_SECONDS = 5.0  # some file systems do not change a folder's time when an entry comes
MOST_FOLDERS = 100  # folders without a run that a look asks whether they have one now
Mark = tuple[float, int]  # newest change and total size of a run's files; the folder's time and -1 for one that is over


@dataclass(slots=True)
class News:
    listed: bool = False  # a run came or went
    grown: list[str] = field(default_factory=list)


class Changes:
    """Remembers what each run looked like. One thread looks."""

    def __init__(self, library: Library, rows: RunRows) -> None:
        self.library, self.rows = library, rows
        self.marks: dict[str, Mark] = {}
        self._hot: set[str] = set()
        self._turn: Iterator[str] = iter(())
        self._not_runs: set[str] = set()  # folders that may become runs
        self._root_ns, self._listed_at = -1, -1.0  # when the root last changed, and when it was listed

    def begin(self) -> None:
        """Look at every run once. Each later change is found."""
        self.marks, self._hot, self._not_runs = {}, set(), set()
        self._root_ns, self._listed_at = -1, -1.0
        self._list()
        for id in self.marks:
            self._set(id, self._mark(id))

    def look(self) -> News:
        before = self.marks.keys() | set()
        self._list()
        news = News(before != self.marks.keys())
        news.grown = [id for id in self._hot & before if self._has_changed(id)]
        news.grown += self._some_others(time.monotonic() + TURN_SECONDS, before)
        for id in self.marks.keys() - before:
            self._set(id, self._mark(id))
        return news

    def newest(self, id: str) -> float:
        """When a file of a run last grew, as far as a look has seen."""
        newest, size = self.marks.get(id, (0.0, 0))
        return self.rows.heard(id) if size < 0 else newest

    # ---- which runs there are

    def _list(self) -> None:
        """Take over the list of runs if it may have changed."""
        now, root_ns = time.monotonic(), _time_ns(self.library.path)
        names: Iterable[str] = list(self._not_runs)[:MOST_FOLDERS]
        if root_ns != self._root_ns or now - self._listed_at > LIST_SECONDS:
            self._root_ns, self._listed_at = root_ns, now
            names = self._names()
            self._not_runs &= set(names)
            for id in self.marks.keys() - set(names):
                del self.marks[id]
                self._hot.discard(id)
        for name in names:
            if name not in self.marks:
                self._add(name)

    def _names(self) -> list[str]:
        path = self.library.path
        if not os.path.isdir(path):
            return []
        return self.library.ids() if is_run(path) else list(folders(path))

    def _add(self, name: str) -> None:
        if self.library.store().entry(name) is None:
            self._not_runs.add(name)
        else:
            self._not_runs.discard(name)
            self.marks[name] = (0.0, 0)

    # ---- which runs changed

    def _some_others(self, until: float, known: set[str]) -> list[str]:
        """Runs that changed, of those whose turn it is."""
        grown = []
        for count in range(len(self.marks) - len(self._hot)):
            if count >= AT_LEAST and time.monotonic() > until:
                break
            id = next(self._turn, None)
            if id is None:
                self._turn = iter([id for id in self.marks if id not in self._hot])
                continue
            if id in known and id in self.marks and id not in self._hot and self._has_changed(id):
                grown.append(id)
        return grown

    def _has_changed(self, id: str) -> bool:
        before, now = self.marks[id], self._mark(id)
        if before[1] < 0 and before != now:  # it was over: a note, or a resume
            self.rows.forget(id)
            now = self._mark(id)
        self._set(id, now)
        if before[1] >= 0 > now[1]:  # it is over now: its row tells whether anything is new
            return self.rows.heard(id) > before[0]
        return before != now

    def _mark(self, id: str) -> Mark:
        """What tells that a run changed."""
        if self.rows.is_over(id):
            return _time_ns(self.library.folder(id)) / 1e9, -1
        return self.library.fingerprint(id)

    def _set(self, id: str, mark: Mark) -> None:
        self.marks[id] = mark
        is_hot = mark[1] >= 0 and (self.rows.is_living(id) or time.time() - mark[0] < HOT_SECONDS)
        (self._hot.add if is_hot else self._hot.discard)(id)


def _time_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
