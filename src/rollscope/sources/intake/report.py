"""The result of an import: new rows of each run, the source of each file, and what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rollscope.sources import Skipped

if TYPE_CHECKING:
    from .target import Target


@dataclass(slots=True)
class Report:
    """The result of an import."""

    runs: dict[str, dict[str, int]] = field(default_factory=dict)  # id -> new values, rows, and rows by table
    files: dict[str, str] = field(default_factory=dict)  # path -> source
    skipped: list[Skipped] = field(default_factory=list)
    kept: dict[str, set[str]] = field(default_factory=dict)  # path -> its numbers that the run has already
    told: Counter[str] = field(default_factory=Counter)  # path -> number of its rollouts that the run has already
    framework: str | None = None  # that wrote the files, if one of them says so

    def add(self, target: Target) -> None:
        """Add the counts of a target, and reset them."""
        run = self.runs.setdefault(target.folder.name, {"values": 0, "rows": 0})
        run["values"] += target.values
        run["rows"] += target.tables.total()
        _add(run, +target.tables)  # without tables of no row
        self.framework = target.run.facts.get("framework") or self.framework
        target.reset_counts()

    def merge(self, other: Report) -> None:
        """Add what another report says of other files."""
        for id, counts in other.runs.items():
            run = self.runs.setdefault(id, {"values": 0, "rows": 0})
            _add(run, counts)
        self.files |= other.files
        for path, names in other.kept.items():
            self.kept.setdefault(path, set()).update(names)
        self.told += other.told
        self.skipped += other.skipped
        self.framework = other.framework or self.framework

    def json(self) -> dict[str, Any]:
        skipped = [{"path": str(s.path), "offset": s.offset, "why": s.why} for s in self.skipped]
        return {
            "runs": [{"id": id, **counts} for id, counts in self.runs.items()],
            "files": self.files,
            "left_out": {path: sorted(names) for path, names in self.kept.items()},
            "told": {path: count for path, count in self.told.items() if count},
            "skipped": skipped,
        }


def _add(run: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        run[name] = run.get(name, 0) + count
