"""A fixture that imports into a temporary folder and reads back through the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


class Imported:
    """A folder of runs that files are imported into."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def take(self, *paths: Path, **options: Any) -> Any:
        """Import the paths; `options` are those of `Importer`."""
        from rollscope.sources.intake.importer import Importer

        importer = Importer(self.root, **options)
        try:
            return importer.take(list(paths))
        finally:
            importer.close()

    def run(self, name: str | None = None) -> Any:
        from rollscope.store.store import open

        return open(self.root).run(name)

    def ids(self) -> list[str]:
        return sorted(p.name for p in self.root.iterdir()) if self.root.exists() else []

    def names(self, run: str | None = None) -> set[str]:
        return set(self.run(run).metrics()["name"])

    def series(self, metric: str, run: str | None = None) -> dict[int, float]:
        series = self.run(run).series(metric)
        return dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))

    def table(self, name: str, run: str | None = None) -> list[dict[str, Any]]:
        """Rows of a table, read from the logs in the order in which they were written."""
        from rollscope.store.log.block import Table
        from rollscope.store.log.scan import scan

        folder = self.root / (run or self.ids()[0])
        blocks = [block for log in sorted(folder.glob("*.log")) for block in scan(log).blocks]
        return [row for block in blocks if isinstance(block, Table) and block.table == name for row in block.records()]


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    return Imported(tmp_path / "runs")
