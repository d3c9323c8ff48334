"""The result of an import: new rows of each run, the source of each file, and what was skipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rollscope.sources import Skipped

if TYPE_CHECKING:
    from .target import Target


@dataclass(slots=True)
class Report:
    """The result of an import."""

    runs: dict[str, dict[str, int]] = field(default_factory=dict)  # id -> number of new values and rows
    files: dict[str, str] = field(default_factory=dict)  # path -> source
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, target: Target) -> None:
        """Add the counts of a target, and reset them."""
        run = self.runs.setdefault(target.run.id, {"values": 0, "rows": 0})
        run["values"] += target.values
        run["rows"] += target.rows
        target.reset_counts()

    def json(self) -> dict[str, Any]:
        skipped = [{"path": str(s.path), "offset": s.offset, "why": s.why} for s in self.skipped]
        return {
            "runs": [{"id": id, **counts} for id, counts in self.runs.items()],
            "files": self.files,
            "skipped": skipped,
        }
