"""What a run says about itself, and whether it is still alive.

`killed` is never written by anybody: it is inferred when nothing has grown for a minute and, on the
same machine, the process is gone. A process that holds the interpreter for an hour (compiling,
loading) is silent, not dead, as long as it can be seen.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

from rollscope.store.live.tail import Tail
from rollscope.store.log import files

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
    """`run.json`, filled in by what was written to the runs table later."""
    return {**filled(folder.facts(), _rows(folder)), "id": folder.name}


def filled(found: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What was known at first, with what each row of the runs table said since, in order."""
    for row in rows:
        found |= {name: _parsed(name, value) for name, value in row.items() if value is not None and name in COLUMNS}
    return found


def _rows(folder: Folder) -> list[dict[str, Any]]:
    return in_order([row for piece in folder.tables("runs") for row in piece.to_pylist()])


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row.get("attempt") or 0, row["seq"]))


def row(folder: Folder) -> dict[str, Any]:
    """The run as a row of the runs table."""
    said = facts(folder)
    started, ended = folder.time_range
    found = {column.name: said.get(column.name) for column in TABLES["runs"]}
    found["state"], found["started_ns"] = state(folder), started if started is not None else found["started_ns"]
    found["ended_ns"] = ended if ended is not None else found["ended_ns"]
    found["step"] = folder.last_step if folder.last_step is not None else found["step"]
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in found.items()}


def _parsed(name: str, value: Any) -> Any:
    return json.loads(value) if name in JSON and isinstance(value, str) else value


def state(folder: Folder) -> str:
    """running, finished, crashed or killed. Of many processes one that crashed is enough; that it is over is said by the first of them."""
    rows = _rows(folder)
    attempt = max((row.get("attempt") or 0 for row in rows), default=0)
    said = {row["writer"]: row["state"] for row in rows if row.get("state") and (row.get("attempt") or 0) == attempt}
    if "crashed" in said.values():
        return "crashed"
    if "finished" in said.values():
        return "finished"
    open_logs = [tail for tail in folder.tails.values() if not tail.closed]
    return "running" if not silent(folder) or any(_runs(tail.facts) for tail in open_logs) else "killed"


def gone(tail: Tail) -> bool:
    """Has this log's process left, on this machine, without a word?"""
    return tail.facts.get("host") == socket.gethostname() and not _runs(tail.facts)


def silent(folder: Folder) -> bool:
    return time.time() - newest(folder) > SILENT_SECONDS


def newest(folder: Folder) -> float:
    """When a file of the run last grew."""
    return files.newest(folder.path)


def _runs(facts: dict[str, Any]) -> bool:
    """Is the process that wrote this log alive, as far as this machine can tell?"""
    pid, host = facts.get("pid"), facts.get("host")
    if not pid or host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
