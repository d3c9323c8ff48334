"""Every row of every table as one line of JSON: `{"table", "step", "time_ns", "data"}`.

The JSON is strict: no data is `null`, and NaN and infinities are the strings "NaN", "Infinity" and
"-Infinity". The default file is `rows.<writer>.jsonl` in the run's folder. Lines are appended, so a
resumed run goes on in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.strict_json import encode

from . import Row
from .numbers import numbers, speakable


class JsonlSink:
    """Appends rows to a file."""

    def __init__(self, info: Mapping[str, Any], dialect: str | None = None, path: str | Path | None = None) -> None:
        self.path = Path(path or Path(info.get("dir") or ".") / f"rows.{info.get('writer') or 'main'}.jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._dialect = dialect
        self._file = self.path.open("ab", buffering=0)

    def write(self, rows: Sequence[Row]) -> None:
        """Write all rows at once, so that a reader never sees half of a short batch."""
        self._file.write(b"".join(self._line(row) for row in rows))

    def _line(self, row: Row) -> bytes:
        data = numbers(row.data, self._dialect) if row.table == "metrics" else row.data
        line = {"table": row.table, "step": row.step, "time_ns": row.time_ns, "data": speakable(data, surrogates=True)}
        return encode(line) + b"\n"

    def close(self) -> None:
        self._file.close()
