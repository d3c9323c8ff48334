"""The sources of which a run holds rows, and how the ids of each are told from other ids."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from rollscope.sources.files import offset
from rollscope.sources.intake.cursors import END, states

PIECE = 1 << 20  # bytes of two files that are compared at once


class Owners:
    """Ids of the first source stay as they are; those of each other one begin with its name.

    A folder that was copied or moved is the same source: its rollouts are not doubled.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prefix(self, own: str, path: Path) -> str:
        """What the ids of a source begin with, of whose files `path` is the first."""
        if own not in self._prefixes:
            first = "" if not self._prefixes else f"{own}/"
            self._prefixes[own] = next(self._of_copied(own, path), first)
        return self._prefixes[own]

    def _of_copied(self, own: str, path: Path) -> Iterator[str]:
        for other, old, cursor in self._files.get(path.name, ()):
            if other in self._prefixes and is_copy(path, old, cursor, _folder(own) == _folder(other)):
                yield self._prefixes[other]

    @cached_property
    def _prefixes(self) -> dict[str, str]:
        return {self._own(state): str(state.get("prefix") or "") for state in self._states}

    @cached_property
    def _files(self) -> dict[str, list[tuple[str, Path, Any]]]:
        """By their names: files that were imported, whose they are and how far they were read."""
        files: dict[str, list[tuple[str, Path, Any]]] = {}
        for state in self._states:
            for path, cursor in state["files"].items():
                files.setdefault(Path(path).name, []).append((self._own(state), Path(path), cursor))
        return files

    @cached_property
    def _states(self) -> list[dict[str, Any]]:
        return [state for _, state in states(self._folder.glob(f"*{END}"))]

    def _own(self, state: dict[str, Any]) -> str:
        return str(state.get("own", self._folder.name))


def is_copy(path: Path, old: Path, cursor: Any, same_folder: bool) -> bool:
    """True if a file is one that was imported from `old`, up to this cursor, or a longer version.

    If the old one is gone, its folder must have had the same name.
    """
    if not path.is_file():
        return False
    if isinstance(cursor, list):
        about = path.stat()
        return cursor[:2] == [about.st_size, about.st_mtime_ns]
    if not isinstance(cursor, dict) or not cursor.get("at") or not offset.continues(path, cursor):
        return False
    return _begin_alike(path, old, cursor["at"]) if old.is_file() else same_folder


def _begin_alike(one: Path, other: Path, size: int) -> bool:
    with one.open("rb") as first, other.open("rb") as second:
        for at in range(0, size, PIECE):
            if first.read(min(PIECE, size - at)) != second.read(min(PIECE, size - at)):
                return False
    return True


def _folder(own: str) -> str:
    """The name of a folder, without what tells it from others of that name."""
    return own.rpartition("-")[0]
