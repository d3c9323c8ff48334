"""Files that a file names: only those below a folder are read."""

from __future__ import annotations

from pathlib import Path


def inside(folder: Path, name: str) -> Path | None:
    """The file of this name below a folder; None if it is missing or lies elsewhere."""
    try:
        path = (folder / name).resolve(strict=True)
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name with a null byte, a loop of links
        return None
