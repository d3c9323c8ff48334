"""Trackio: a local SQLite file per project.

Every row carries its step, so steps may come in any order. NaN and infinities are kept. Samples are
one Trackio table per step, under `samples`. Trackio's own setting `TRACKIO_DIR` says where the
database is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import trackio

from . import Row
from .numbers import present, speakable
from .table import COLUMNS, by_step


class TrackioSink:
    """Writes one Trackio run."""

    def __init__(self, info: Mapping[str, Any], dialect: str | None = None, **options: Any) -> None:
        self._dialect = dialect
        quiet: dict[str, Any] = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False, "resume": "allow"}
        known = {
            "project": info.get("project") or "rollscope",
            "name": info.get("name") or info.get("id"),
            "group": info.get("group"),
        }
        self._run: Any = trackio.init(**{**quiet, **known, **options}, config=speakable(info.get("config") or {}))

    def write(self, rows: Sequence[Row]) -> None:
        if self._run is None:
            raise RuntimeError("the trackio sink was closed")
        for row in rows:
            if row.table == "metrics":
                self._run.log(present(row.data, self._dialect), step=row.step)
        for step, table in by_step(rows):
            self._run.log({"samples": trackio.Table(columns=list(COLUMNS), data=table)}, step=step)

    def close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.finish()
