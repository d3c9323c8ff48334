"""How far each file was imported, and from which sources, as imports say it beside their logs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

END = ".import.json"  # after the writer, in the name of what an import leaves beside its logs
Cursors = dict[str, dict[str, Any]]  # path of a file -> id under which its source knows the run -> cursor


def stored(root: Path, into: str | None) -> Cursors:
    """The cursors of imports into the run `into`, or else of imports as runs of their own.

    The two do not count for each other: one file may be imported both ways.
    """
    cursors: Cursors = {}
    for sidecar, state in states(root.glob(f"*/*{END}") if into is None else (root / into).glob(f"*{END}")):
        if ("own" in state) == (into is not None):
            for path, cursor in state["files"].items():
                cursors.setdefault(path, {})[state.get("own", sidecar.parent.name)] = cursor
    return cursors


def guests(folder: Path) -> list[str]:
    """The writers of a run that imports into it made."""
    return [path.name.removesuffix(END) for path, state in states(folder.glob(f"*{END}")) if "own" in state]


def states(sidecars: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """What imports left."""
    for sidecar in sidecars:
        with contextlib.suppress(ValueError):  # damaged: the files are read from the start
            yield sidecar, json.loads(sidecar.read_text(encoding="utf-8"))
