"""A JSON list of log rows, such as W&B's history export. Rows are read as in `jsonl`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.files import jsonlist
from rollscope.sources.intake.gather import Gather, run_id
from rollscope.sources.intake.guess import origin

from . import Item, Mark, Restart, RunStart, Since, Skipped
from .jsonl import STEPS, flush, take

NAMES = ("json", "wandb json export")
ORDER = 10


def recognises(path: Path) -> bool:
    """True for a list whose first row has a step."""
    if not path.is_file() or path.suffix != ".json":
        return False
    with path.open("rb") as file:
        head = file.read(1 << 16).lstrip()
    row = head[: head.find(b"}") + 1]
    return head[:1] == b"[" and head[1:].lstrip()[:1] == b"{" and any(f'"{name}"'.encode() in row for name in STEPS)


def rows(path: Path, since: Since) -> Iterator[Item]:
    entries, damaged = jsonlist.read(path)
    table = [row for row in entries if isinstance(row, dict)]
    id = run_id(path.stem, "json", path)
    names = {name for row in table[:50] for name in row}
    facts = {"name": path.stem, "project": path.parent.name, "ended_ns": path.stat().st_mtime_ns}
    yield RunStart(id=id, kind=NAMES[0], facts={**facts, **origin(names)})
    cursor = since.get(id) or {"rows": 0}
    if cursor["rows"] and cursor.get("digest") != _digest(table[: cursor["rows"]]):
        yield Restart("the file was rewritten since the last import; it is read from the start")
        cursor = {"rows": 0}
    time_ns = path.stat().st_mtime_ns
    gather, others = Gather(path), dict[str, list[dict[str, Any]]]()
    for i, row in enumerate(table[cursor["rows"] :], cursor["rows"] + 1):
        try:
            take(row, i, time_ns, gather, others)
        except ValueError as error:
            yield Skipped(f"entry {i} is not imported: {error}", path)
    yield from flush(gather, others)
    yield from gather.skipped()
    yield from damaged
    yield Mark({"rows": len(table), "digest": _digest(table)}, 1, 1)


def _digest(table: list[dict[str, Any]]) -> str:
    return hashlib.blake2b(json.dumps(table, sort_keys=True).encode(), digest_size=8).hexdigest()
