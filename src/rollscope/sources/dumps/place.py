"""Where the rows of a dumped file belong: run, step, split, and a name for the file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollscope.sources import RunStart
from rollscope.sources.intake.gather import run_id

GROUPS = 1 << 16  # groups whose samples are counted at the same time


class Repeats:
    """Numbers the samples of each group, in bounded memory: a group's samples stand together."""

    def __init__(self, most: int = GROUPS) -> None:
        self._most = most
        self._counts: OrderedDict[str, int] = OrderedDict()

    def number(self, group: str) -> int:
        """The number of the next sample of a group, from 0."""
        count = self._counts.pop(group, -1) + 1
        self._counts[group] = count
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file of a dump. `folder` is the folder of the run: all its files are one run.

    `name` tells the file's rows from those of the run's other files. `kind` separates what is
    stored of a run by two sources.
    """

    framework: str
    folder: Path
    name: str
    step: int = 0
    split: str = "train"
    kind: str = "rollouts"
    alone: str | None = None  # why its rows cannot be added to another run
    facts: Mapping[str, Any] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)

    def run(self, path: Path) -> RunStart:
        about = {"name": self.folder.name, "project": self.folder.parent.name, "framework": self.framework}
        facts = {**about, "ended_ns": path.stat().st_mtime_ns, **self.facts}
        id = run_id(self.folder.name, self.framework, self.folder)
        return RunStart(id=id, kind=self.kind, facts=facts, alone=self.alone)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one row stands: its file, its number in the file, and the time of the file."""

    place: Place
    row: int
    time_ns: int

    @property
    def id(self) -> str:
        """An id for the sample in this row, if the row has none of its own."""
        return f"{self.place.name}/{self.row}"
