"""The facts of a run, and its state: running, finished, crashed or killed.

No process writes `killed`. It is inferred if no file has grown for a minute and, on the same
machine, the process is gone. A process that holds the interpreter for an hour (compiling, loading)
is silent, not dead, as long as it can be seen.
"""

from __future__ import annotations

import json
import time
from typing import Any

from rollscope.store.live.tail import Tail
from rollscope.store.log import files, liveness
from rollscope.store.log import open_spans as named

from . import regular_file, run_json
from .folder import Folder
from .schema import TABLES

SILENT_SECONDS = 60.0
COLUMNS = {column.name for column in TABLES["runs"]}
JSON = {column.name for column in TABLES["runs"] if column.type == "json"}


class Record(dict[str, Any]):
    """A run in a list of runs: `record.id` and `record["id"]` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def facts(folder: Folder) -> dict[str, Any]:
    """`run.json`, updated by the rows of the runs table."""
    return {**filled(folder.facts(), _rows(folder)), "id": folder.name}


def filled(facts: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """First facts, updated by each row of the runs table in order."""
    for row in rows:
        known = {name: _parsed(name, value) for name, value in row.items() if value is not None and name in COLUMNS}
        facts |= {name: value for name, value in known.items() if run_json.fits(name, value)}
    return facts


def _rows(folder: Folder) -> list[dict[str, Any]]:
    return in_order(folder.run_rows())


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row.get("attempt") or 0, row["seq"]))


def row(folder: Folder) -> dict[str, Any]:
    """The run as a row of the runs table."""
    known = facts(folder)
    columns = {column.name: known.get(column.name) for column in TABLES["runs"]}
    started, ended = folder.time_range
    logged = {"state": state(folder), "started_ns": started, "ended_ns": ended, "step": folder.last_step}
    columns |= {name: value for name, value in logged.items() if value is not None}
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in columns.items()}


def _parsed(name: str, value: Any) -> Any:
    """The value of a column. A text that is no JSON stays one, and does not fit its column."""
    try:
        return regular_file.parsed(value) if name in JSON and isinstance(value, str) else value
    except ValueError:
        return value


def state(folder: Folder) -> str:
    """running, finished, crashed or killed.

    One crashed process makes the run crashed; one finished process (the first rank) makes it
    finished.
    """
    rows = _rows(folder)
    attempt = max((row.get("attempt") or 0 for row in rows), default=0)
    latest = {row["writer"]: row["state"] for row in rows if row.get("state") and (row.get("attempt") or 0) == attempt}
    if "crashed" in latest.values():
        return "crashed"
    if "finished" in latest.values():
        return "finished"
    open_logs = [tail for tail in folder.tails.values() if not tail.closed]
    return "running" if not silent(folder) or any(_runs(tail) for tail in open_logs) else "killed"


def silent(folder: Folder) -> bool:
    return time.time() - files.newest(folder.path) > SILENT_SECONDS


def _runs(tail: Tail) -> bool:
    """True if the writer of a log can be seen to be alive."""
    return liveness.is_alive(tail.path, tail.facts)


def open_spans(folder: Folder) -> list[dict[str, Any]]:
    """Spans that have begun and not ended, with their writer, and whether that process lives."""
    by_writer = named.read(folder.path)
    logs = [tail for tail in folder.tails.values() if not tail.closed] if by_writer else []
    alive = {str(tail.facts.get("writer")) for tail in logs if _runs(tail)}
    return [
        {**span, "writer": writer, "alive": writer in alive} for writer, spans in by_writer.items() for span in spans
    ]
