"""How many bytes of a lake a project may use, as `[quota]` of `team.toml` says.

What is counted is what the files of its runs take now, and what this server has added since it
looked.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import Any

from rollscope.errors import BadInput, RollscopeError
from rollscope.lake import engine
from rollscope.lake.place import Place

EVERY_OTHER = "*"
FRESH_SECONDS = 60.0
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


class Quotas:
    """What projects may use. A project that is not named may use what `*` may, or any size."""

    def __init__(self, place: Place, most: Mapping[str, int]) -> None:
        self._place, self._most = place, dict(most)
        self._used: dict[str, int] = {}
        self._looked = -FRESH_SECONDS
        self._lock = threading.Lock()

    def check(self, project: str, more: int) -> None:
        """Raise a sentence if the project may not add so many bytes."""
        most = self._most.get(project, self._most.get(EVERY_OTHER))
        if most is None:
            return
        used = self._of(project)
        if used + more > most:
            raise OverQuota(
                f"the project {project!r} may keep {most:,} bytes in this lake and has {used:,}, so {more:,} more are"
                " not taken. Delete runs (rollscope lake delete), or ask who runs the server for more; nothing is"
                " lost, the run's folder keeps it."
            )

    def count(self, project: str, added: int) -> None:
        with self._lock:
            self._used[project] = self._used.get(project, 0) + added

    def _of(self, project: str) -> int:
        with self._lock:
            if time.monotonic() - self._looked > FRESH_SECONDS:
                with engine.connected(self._place, read_only=True) as connection:
                    self._used = {name: int(size) for name, size in connection.execute(_USED).fetchall()}
                self._looked = time.monotonic()
            return self._used.get(project, 0)
