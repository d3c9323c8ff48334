"""What an importer asks about a run that is there: whose rows come, and which of them it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollscope.sources import Points, Records, RunStart, Skipped, SourceError

from .named import Named
from .owners import Owners
from .told import Told

if TYPE_CHECKING:
    from rollscope.sources.intake.report import Report
    from rollscope.sources.intake.target import Target

    from .into import Into


LOST = "{} left out: the step is missing or not a whole number. Importing the file without --into keeps them"


class Guest:
    def __init__(self, root: Path, into: Into, live: bool = False) -> None:
        """With `live`, a run that is not over may get numbers of its own while files are read."""
        self._into = into
        self._named = Named(root / into.run, into.writers, into.over) if live and into.end_ns is None else None
        self._owners = Owners(root / into.run)
        self._told = Told(root / into.run)

    def look_again(self) -> None:
        """Let the next rows meet what the run has got since."""
        self._told.look_again()

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
        placed = [row for row in records.rows if records.table != "samples" or not _is_lost(row)]
        if lost := len(records.rows) - len(placed):
            report.skipped.append(Skipped(LOST.format("1 row is" if lost == 1 else f"{lost:,} rows are"), path))
        placed_records, told = self._told.place(Records(records.table, placed), target.prefix)
        report.told[str(path)] += told
        return placed_records


def _is_lost(row: Mapping[str, Any]) -> bool:
    """True for a rollout that names no step. A row without words adds to one that does."""
    return "step" not in row and (row.get("prompt") is not None or row.get("completion") is not None)
