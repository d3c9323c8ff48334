"""Files of sets that lie elsewhere, such as in a lake, and are brought here when first read.

Whoever keeps a folder of such runs registers it. Below other folders a missing file is missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import BinaryIO, Protocol, TypeVar

from rollscope.store import regular_file

Result = TypeVar("Result")


class Elsewhere(Protocol):
    """Where the files of the runs below one folder come from."""

    def bring(self, path: str) -> bool:
        """Bring a missing file; False if it is no file of a set."""

    def lacks(self, run: str) -> bool:
        """True if rows of a run in a folder have not been brought yet."""


_roots: dict[str, Elsewhere] = {}


def register(root: str, elsewhere: Elsewhere) -> None:
    _roots.setdefault(os.path.abspath(root), elsewhere)


def _of(path: str) -> Elsewhere | None:
    """Who keeps the runs of a path."""
    if not _roots:
        return None
    whole = os.path.abspath(path)
    return next((found for root, found in _roots.items() if whole.startswith(root + os.sep)), None)


def lacks(run: str) -> bool:
    """True if rows of a run have not been brought here yet, so that reading them all takes long."""
    found = _of(run)
    return found is not None and found.lacks(run)


def check(path: str) -> os.stat_result:
    """`regular_file.check` of a file that may have to be brought."""
    return _here(path, lambda: regular_file.check(path))


def opened(path: str) -> BinaryIO:
    """`regular_file.opened` of a file that may have to be brought."""
    return _here(path, lambda: regular_file.opened(path))


def read(path: str, most: int) -> bytes:
    """`regular_file.read` of a file that may have to be brought."""
    return _here(path, lambda: regular_file.read(path, most))


def _here(path: str, look: Callable[[], Result]) -> Result:
    found = _of(path)
    if found is None:
        return look()
    try:
        result = look()
    except FileNotFoundError:
        if not found.bring(path):
            raise
        return look()
    _mark_used(path)
    return result


def _mark_used(path: str) -> None:
    """Files that were not used for long may be removed again."""
    try:
        os.utime(path, ns=(time.time_ns(), os.stat(path).st_mtime_ns))
    except OSError:  # another reader's file: it may be read and not marked
        return
