"""What an importer asks about a run that is there: whose rows come, and which of them it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rollscope.sources import Points, Records, RunStart, SourceError

from .named import Named
from .owners import Owners
from .stepless import Stepless
from .told import Told

if TYPE_CHECKING:
    from rollscope.sources.intake.report import Report
    from rollscope.sources.intake.target import Target

    from .into import Into


class Guest:
    def __init__(self, root: Path, into: Into, stepless: Stepless, live: bool = False) -> None:
        """With `live`, a run that is not over may get numbers of its own while files are read."""
        self._root, self._into, self._stepless = root, into, stepless
        self._named = Named(root / into.run, into.writers, into.over) if live and into.end_ns is None else None
        self._owners = Owners(root / into.run)
        self._told = Told(root / into.run)

    def look_again(self) -> None:
        """Let the next rows meet what the run has got since."""
        self._told.look_again()

    def late(self, over: bool) -> dict[str, str]:
        """Rollouts that the run recorded after a dump had told them: id in the dump -> id."""
        return self._told.late(over)

    def join(self, pairs: Mapping[str, str]) -> None:
        """Make one sample of each."""
        from .late import join

        self._told.joined(pairs)
        join(self._root, self._into, self._told.own, pairs)

    def start(self, run: RunStart, path: Path) -> tuple[RunStart, str]:
        """Where the rows of a source go, and what the ids of its samples begin with."""
        return self._into.guest(run), self._owners.prefix(run.id, path)

    def check(self, run: RunStart, first: str) -> None:
        """Raise if a file holds a second run: two would be mixed in the run that they go to."""
        if run.id != first:
            raise SourceError(
                f"it holds several runs, of which the first ({first}) was added; import it without --into"
            )

    def numbers(self, points: Points, path: Path, target: Target, report: Report) -> Points:
        """The numbers that the run lacks."""
        if self._named is not None:
            self._named.meet(points.names)
        points, left = self._into.take(points, target.writer, str(target.run.facts.get("framework") or ""))
        if left:
            report.kept.setdefault(str(path), set()).update(left)
        return points

    def rows(self, records: Records, path: Path, target: Target, report: Report) -> Records:
        """The rows that the run lacks, of those that say where they belong."""
        if records.table == "samples":
            records = Records("samples", self._stepless.without(records.rows, path))
        records, told = self._told.place(records, target.prefix)
        report.told[str(path)] += told
        return records
