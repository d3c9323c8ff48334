"""A JSON file that is a list of log rows: W&B's history export, and what many scripts write at the end. Otherwise as `jsonl`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.files import jsonlist
from rollscope.sources.intake.gather import Gather, run_id
from rollscope.sources.intake.guess import algorithm, framework

from . import Item, Mark, Restart, Run, Since
from .jsonl import STEPS, flush, take

NAMES = ("json", "wandb json export")
ORDER = 10


def recognises(path: Path) -> bool:
    """By its beginning: a list whose first row names a step."""
    if not path.is_file() or path.suffix != ".json":
        return False
    with path.open("rb") as file:
        head = file.read(1 << 16).lstrip()
    row = head[: head.find(b"}") + 1]
    return head[:1] == b"[" and head[1:].lstrip()[:1] == b"{" and any(f'"{name}"'.encode() in row for name in STEPS)


def rows(path: Path, since: Since) -> Iterator[Item]:
    found, damaged = jsonlist.read(path)
    kept = [row for row in found if isinstance(row, dict)]
    id = run_id(path.stem, "json", path)
    names = {name for row in kept[:50] for name in row}
    dialect = framework(names)
    facts = {
        "name": path.stem,
        "project": path.parent.name,
        "framework": dialect,
        "algorithm": algorithm(dialect),
        "ended_ns": path.stat().st_mtime_ns,
    }
    yield Run(id=id, kind=NAMES[0], facts=facts)
    cursor = since.get(id) or {"rows": 0}
    if cursor["rows"] and cursor.get("digest") != _digest(kept[: cursor["rows"]]):
        yield Restart("the file was rewritten since it was last imported: it is read anew")
        cursor = {"rows": 0}
    gather, others = Gather(path), dict[str, list[dict[str, Any]]]()
    for i, row in enumerate(kept[cursor["rows"] :], cursor["rows"] + 1):
        take(row, i, path.stat().st_mtime_ns, gather, others)
    yield from flush(gather, others)
    yield from gather.skipped()
    yield from damaged
    yield Mark({"rows": len(kept), "digest": _digest(kept)}, 1, 1)


def _digest(kept: list[dict[str, Any]]) -> str:
    return hashlib.blake2b(json.dumps(kept, sort_keys=True).encode(), digest_size=8).hexdigest()
