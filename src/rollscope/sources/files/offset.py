"""The place in a file of lines up to which it was read, and whether the file still continues it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HEAD = 64  # bytes that tell one file from another


def start(path: Path) -> dict[str, Any]:
    """The place before the first line."""
    return {"at": 0, "line": 0, "head": _head(path)}


def reached(path: Path, at: int, line: int) -> dict[str, Any]:
    """The place after `line` lines, which end at byte `at`."""
    return {"at": at, "line": line, "head": _head(path), "tail": before(path, at)}


def continues(path: Path, place: Any) -> bool:
    """True if the file is the one that was read up to this place, or a longer version of it."""
    if not isinstance(place, dict) or place["at"] > path.stat().st_size:
        return False
    tail = before(path, place["at"])
    return _head(path).startswith(place["head"]) and tail == place.get("tail", tail)


def before(path: Path, at: int) -> str:
    """The last bytes before an offset.

    A rewritten file may begin like the old one, but rarely has the same bytes there.
    """
    with path.open("rb") as file:
        file.seek(max(0, at - HEAD))
        return file.read(min(HEAD, at)).hex()


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(HEAD).hex()
