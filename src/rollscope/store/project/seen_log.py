"""The project log as someone sees it who may see some runs alone, and may speak of these alone.

An entry about a run is seen with the run. A board, a saved view or a query is of no run, but may
tell of many: it is seen by those who may see all that its author could. What its author could see
stands in the entry. Numbers of rules hold for all runs, so all see them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rollscope.errors import BadInput, NotFound
from rollscope.store.listing.allowed import Sight
from rollscope.store.listing.entries import BIN, is_run, look

from .entry import Entry
from .kinds import KINDS, split
from .log import Change, ProjectLog

FRESH_SECONDS = 1.0  # after which the log looks again which runs are there
FOR_ALL = ("threshold",)
Current = dict[str, dict[str, Entry]]


class SeenLog(ProjectLog):
    """The entries that someone may see, and a check of what they say."""

    def __init__(self, root: str, sight: Sight) -> None:
        super().__init__(root)
        self._sight = sight
        self._shown: dict[str, Entry] = {}
        self._made_of = (-1, 0.0)  # how many entries were read then, and when

    def shows(self, folder: str) -> bool:
        found = look(os.path.basename(folder), folder)
        return found is not None and self._sight.sees(found)

    def problems(self) -> list[str]:
        """None: a sentence about a line may tell what the line is about."""
        return []

    def __len__(self) -> int:
        return len(self._shown)

    def _visible(self) -> dict[str, Entry]:
        known = self._read()
        count, made = self._made_of
        if count != len(known) or time.monotonic() - made > FRESH_SECONDS:
            self._shown, self._current = self._filtered(known), None
            self._made_of = len(known), time.monotonic()
        return self._shown

    def _filtered(self, known: dict[str, Entry]) -> dict[str, Entry]:
        shown: dict[str, Entry] = {}
        runs: dict[str, bool] = {}
        for entry in known.values():
            if entry.undoes:
                undoes = tuple(id for id in entry.undoes if id in shown)
                if undoes:
                    shown[entry.id] = replace(entry, undoes=undoes)
            elif self._shows_entry(entry, runs):
                shown[entry.id] = entry
        return shown

    def _shows_entry(self, entry: Entry, runs: dict[str, bool]) -> bool:
        if entry.kind in FOR_ALL:
            return True
        if entry.kind == "baseline":
            return entry.name in self._sight.allowed.projects
        if entry.kind == "board" and entry.name in self._sight.allowed.boards:
            return True
        run = run_of(entry.kind, entry.name)
        if run is None:
            return bool(entry.projects) and self._sight.allowed.projects.issuperset(entry.projects)
        if run not in runs:
            runs[run] = self._shows_run(run)
        return runs[run]

    def _shows_run(self, id: str) -> bool:
        """True if the run is here or in the bin, and may be seen."""
        if os.path.basename(id) != id or id in ("", os.curdir, os.pardir):
            return False
        if is_run(self.root):
            return id == os.path.basename(os.path.abspath(self.root)) and self.shows(self.root)
        if self.shows(os.path.join(self.root, id)):
            return True
        bin = os.path.join(self.root, BIN)
        places = os.listdir(bin) if os.path.isdir(bin) else []
        return any(self.shows(os.path.join(bin, place, id)) for place in places)

    # ---- say something

    def append_all(self, changes: Sequence[Change], author: str = "", after: str | None = None) -> list[Entry]:
        for change in changes:
            self._check(change)
        return super().append_all(changes, author, after)

    def _stamped(self, entry: Entry) -> Entry:
        return replace(entry, projects=tuple(sorted(self._sight.allowed.projects)))

    def _check(self, change: Change) -> None:
        """Raise an error if a change is about what its author does not see."""
        run = run_of(change.kind, change.name)
        if run is None and change.kind == "baseline":
            if change.name not in self._sight.allowed.projects:
                raise NotFound(f"there is no project {change.name[:80]!r} among yours")
            run = change.value if isinstance(change.value, str) else None
        elif change.kind in FOR_ALL:
            raise BadInput(f"a {change.kind} holds for all runs: only who may see every project can change it")
        if run is not None and not self._shows_run(run):
            raise NotFound(f"no run {run[:80]!r} here. Pick one from the list of runs.")


def run_of(kind: str, name: str) -> str | None:
    """The run that an entry is about; None for one that is about no single run."""
    known = KINDS.get(kind)
    if known is None or "run" not in known.words:
        return None
    words: list[Any] = split(kind, name)
    at = known.words.index("run")
    return str(words[at]) if at < len(words) else ""
