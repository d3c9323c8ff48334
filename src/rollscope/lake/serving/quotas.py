"""How many bytes of a lake a project may use, as `[quota]` of `team.toml` says.

What is counted is what the files of its runs take now, what this server has added since it looked,
and objects that were sent to it and not shipped yet: without those, who never ships could fill the
object store.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from rollscope.errors import BadInput, RollscopeError
from rollscope.lake import engine
from rollscope.lake.place import Place

EVERY_OTHER = "*"
FRESH_SECONDS = 60.0
SENT_SECONDS = 86_400.0  # an object that nobody shipped is removed by a tidy after a day
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B?)", re.IGNORECASE)
_USED = """
SELECT o.project, sum(o.bytes) FROM lake.book.objects o ANTI JOIN lake.book.objects later
ON later.run = o.run AND later.name = o.name AND later.kind IN ('gone', 'whole')
AND later.ship > o.ship GROUP BY o.project
"""


class OverQuota(RollscopeError):
    """A project has used the bytes that it may."""

    status = 507


def bytes_of(said: Any, where: str) -> int:
    """A size such as 200 GB in bytes."""
    found = _SIZE.fullmatch(str(said).strip())
    unit = found[2].upper() if found else ""
    if found is None or unit not in UNITS:
        raise BadInput(f"{where} is {str(said)[:40]!r}; expected a size such as '200 GB', or a number of bytes")
    return int(float(found[1]) * UNITS[unit])


class Sent:
    """Objects of a project that came and were not shipped yet, the oldest first."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[int, float]] = {}  # key -> bytes, and when they came
        self._bytes = 0

    def bytes_without(self, key: str) -> int:
        before = time.monotonic() - SENT_SECONDS
        self.remove(list(takewhile(lambda old: self._objects[old][1] < before, self._objects)))
        return self._bytes - self._objects.get(key, (0, 0.0))[0]

    def add(self, key: str, size: int) -> None:
        self.remove([key])
        self._objects[key] = size, time.monotonic()
        self._bytes += size

    def remove(self, keys: Iterable[str]) -> None:
        self._bytes -= sum(self._objects.pop(key, (0, 0.0))[0] for key in keys)


class Quotas:
    """What projects may use. A project that is not named may use what `*` may, or any size."""

    def __init__(self, place: Place, most: Mapping[str, int]) -> None:
        self._place, self._most = place, dict(most)
        self._used: dict[str, int] = {}
        self._sent: dict[str, Sent] = {}
        self._looked = -FRESH_SECONDS
        self._lock = threading.Lock()

    def _allowed(self, project: str) -> int | None:
        return self._most.get(project, self._most.get(EVERY_OTHER))

    def take(self, project: str, key: str, size: int) -> None:
        """Count an object that is to be shipped later, or raise a sentence.

        Sent again, it counts once.
        """
        most = self._allowed(project)
        if most is None:
            return
        used = self._of(project)
        with self._lock:
            sent = self._sent.setdefault(project, Sent())
            used += sent.bytes_without(key)
            if used + size > most:
                raise OverQuota(
                    f"the project {project!r} may keep {most:,} bytes in this lake and has {used:,}, so {size:,} more"
                    " are not taken. Delete runs (rollscope lake delete), or ask who runs the server for more; nothing"
                    " is lost, the run's folder keeps it."
                )
            sent.add(key, size)

    def count(self, project: str, added: int, shipped: Iterable[str]) -> None:
        """A ship added so many bytes; these objects wait no more."""
        with self._lock:
            self._used[project] = self._used.get(project, 0) + added
            if project in self._sent:
                self._sent[project].remove(shipped)

    def _of(self, project: str) -> int:
        with self._lock:
            if time.monotonic() - self._looked > FRESH_SECONDS:
                with engine.connected(self._place, read_only=True) as connection:
                    self._used = {name: int(size) for name, size in connection.execute(_USED).fetchall()}
                self._looked = time.monotonic()
            return self._used.get(project, 0)
