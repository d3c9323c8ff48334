"""The files of one run as pieces: what is sealed, and the logs that are not. Looking again reads only what is new."""

from __future__ import annotations

import os

import pyarrow as pa

from .frame import Damage
from .log import NAME
from .reduce import Partials, nothing_more
from .rows import Rows, Words
from .tail import Tail


class Folder:
    def __init__(self, path: str, partials: Partials = nothing_more) -> None:
        self.path, self.partials = path, partials
        self.words = Words()
        self.tails: dict[str, Tail] = {}
        self.version = 0  # grows whenever a look found something

    def refresh(self) -> bool:
        """Look again; True if anything is new."""
        present = {entry.name: entry.path for entry in os.scandir(self.path) if NAME.fullmatch(entry.name)}
        changed = False
        for name in [name for name in self.tails if name not in present]:
            del self.tails[name]
            changed = True
        for name in sorted(present):
            if name not in self.tails:
                self.tails[name] = Tail(present[name], self.words)
            changed |= self.tails[name].refresh()
        self.version += changed
        return changed

    @property
    def damage(self) -> list[Damage]:
        return [damage for tail in self.tails.values() for damage in tail.damage]

    @property
    def resumed(self) -> dict[int, int]:
        """Attempt -> the first step it wrote, for every attempt after the first."""
        first: dict[int, int] = {}
        for tail in self.tails.values():
            for attempt, step in tail.metrics.first.items():
                first[attempt] = min(step, first.get(attempt, step))
        first.pop(min(first, default=0), None)
        return first

    @property
    def last_step(self) -> int | None:
        found = [tail.metrics.last_step for tail in self.tails.values() if tail.metrics.where]
        return max(found, default=None)

    @property
    def span(self) -> tuple[int | None, int | None]:
        """When the first and the last thing was written."""
        found = [tail.metrics.times for tail in self.tails.values() if tail.metrics.where]
        return min((lo for lo, _ in found), default=None), max((hi for _, hi in found), default=None)

    def names(self) -> list[str]:
        return sorted({name for tail in self.tails.values() for name in tail.metrics.where})

    def rows(self, name: str) -> Rows:
        return Rows.join([tail.metrics.rows(name) for tail in self.tails.values() if name in tail.metrics.where])

    def tables(self, name: str) -> list[pa.Table]:
        """The pieces of a table, oldest file of each writer first."""
        return [piece for tail in self.tails.values() for piece in tail.tables(name)]
