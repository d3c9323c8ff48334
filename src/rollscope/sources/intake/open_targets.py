"""The logs that an importer has open, the one that was used last at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rollscope.sources import RunStart

from .writing import writing

if TYPE_CHECKING:
    from .target import Target

OPEN = 64  # logs that are open at the same time


class OpenTargets:
    def __init__(self, root: Path, live: bool, attempt: int | None) -> None:
        """With an `attempt` they are for a run that others record."""
        self._root, self._live, self._attempt = root, live, attempt
        self._targets: dict[tuple[str, str], Target] = {}

    def __iter__(self) -> Iterator[Target]:
        return iter(self._targets.values())

    def of(self, run: RunStart, own: str | None, prefix: str) -> Target:
        """The log that a run's rows of a kind go to; see `Target`."""
        from .target import Target

        key = (run.id, run.kind)
        target = self._targets.pop(key, None)
        target = target or Target(self._root, run, self._live, self._attempt, own, prefix)
        self._targets[key] = target
        target.run = run
        return target

    def drop_stale(self) -> None:
        """Forget those from which another import went on."""
        self._targets = {key: target for key, target in self._targets.items() if not target.is_stale}

    def drop(self, target: Target) -> None:
        del self._targets[target.run.id, target.run.kind]

    def close_oldest(self) -> None:
        """Close logs if many are open: there may be thousands of runs. Followed runs stay open."""
        while len(self._targets) > OPEN and not (self._live and self._attempt is None):
            self._targets.pop(next(iter(self._targets))).close()

    def close(self) -> None:
        targets, self._targets = self._targets, {}
        with writing(self._root), contextlib.ExitStack() as all_of_them:
            for target in targets.values():
                all_of_them.callback(target.close)
