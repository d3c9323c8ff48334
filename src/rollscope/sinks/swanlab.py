"""SwanLab. Steps may come in any order.

SwanLab keeps the first of two values of one name at one step. Samples become texts.
Without `SWANLAB_MODE` and without an API key it works offline.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import swanlab

from . import Row
from .numbers import present, speakable
from .table import COLUMNS, by_step


class SwanLabSink:
    """Writes one SwanLab run."""

    def __init__(self, info: Mapping[str, Any], dialect: str | None = None, **options: Any) -> None:
        self._dialect = dialect
        known = {key: info[key] for key in ("project", "name", "group", "tags") if info.get(key)}
        mode = os.environ.get("SWANLAB_MODE") or ("online" if os.environ.get("SWANLAB_API_KEY") else "offline")
        if info.get("dir"):
            options.setdefault("logdir", os.path.join(str(info["dir"]), "swanlog"))
        self._run: Any = swanlab.init(**{"mode": mode, **known, **options}, config=speakable(info.get("config") or {}))

    def write(self, rows: Sequence[Row]) -> None:
        if self._run is None:
            raise RuntimeError("the swanlab sink was closed")
        for row in rows:
            if row.table == "metrics" and (values := present(row.data, self._dialect)):
                self._run.log(values, step=row.step)
        for step, table in by_step(rows):
            self._run.log({"samples": [_text(cells) for cells in table]}, step=step)

    def close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.finish()


def _text(cells: list[Any]) -> Any:
    return swanlab.Text(json.dumps(dict(zip(COLUMNS, cells, strict=True)), ensure_ascii=False))
