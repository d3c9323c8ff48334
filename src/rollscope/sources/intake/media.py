"""Copies of images and videos that samples of an imported run point to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LARGEST = 100_000_000  # bytes of a file that is copied


def keep(path: Path, folder: Path, name: str) -> str | None:
    """Copy a file into a folder; return why not, if it is too large.

    The copy appears when it is whole. Raises OSError if it cannot be written.
    """
    size = path.stat().st_size
    if size > LARGEST:
        return f"it has {size / 1e6:,.0f} MB, and files up to {LARGEST / 1e6:,.0f} MB are copied into a run"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}.part"
    shutil.copyfile(path, partial)
    os.replace(partial, folder / name)
    return None
