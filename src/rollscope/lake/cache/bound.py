"""Keep the cache below a size: the files of sets that were not read for longest leave first.

A reader that has such a file open goes on reading it, and the next one fetches it again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from rollscope.errors import BadInput
from rollscope.store.sealed.manifest import NAMES, SUFFIX

VARIABLE = "ROLLSCOPE_CACHE_GB"
DEFAULT_GB = 20.0
LOW = 0.8  # of the bound: what is left after files were removed
LOOKS = 16  # times that a cache is looked through while it is filled


def most_bytes() -> int:
    """How large the cache of a lake may be."""
    said = os.environ.get(VARIABLE) or DEFAULT_GB
    try:
        return int(float(said) * 1e9)
    except (ValueError, OverflowError):
        raise BadInput(f"{VARIABLE} is {said!r}; expected how many GB the cache may have, such as 20") from None


class Bound:
    """The bound of one cache. Other processes may fill and empty it at the same time."""

    def __init__(self, root: str) -> None:
        self._root, self._most = root, most_bytes()
        self._unseen = self._most  # bytes that came since the last look
        self._lock = threading.Lock()

    def make_room(self, size: int) -> None:
        """Remove files until there is room for one more."""
        with self._lock:
            self._unseen += size
            if self._unseen < self._most / LOOKS:
                return
            self._unseen = 0
            found = sorted(_files(self._root))
            held = size + sum(bytes for _, bytes, _ in found)
            if held <= self._most:
                return
            for _, bytes, path in found:
                if held <= self._most * LOW:
                    return
                with contextlib.suppress(OSError):
                    os.unlink(path)
                    held -= bytes


def _files(root: str) -> Iterator[tuple[int, int, str]]:
    """When each file of a set that can be fetched again was last used, its size and its path."""
    for folder, _, names in os.walk(root):
        if folder.endswith(SUFFIX):
            for name in names:
                path = os.path.join(folder, name)
                if name not in NAMES and not name.startswith("."):
                    with contextlib.suppress(OSError):
                        status = os.stat(path)
                        yield status.st_atime_ns, status.st_size, path
