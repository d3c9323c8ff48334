"""The buffer of groups that wait to be trained on.

Stale groups are discarded with the reason `max_async`; `sample` returns the oldest of the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from .player import Sample


class Buffer:
    def __init__(self, max_off_policy_steps: int, on_discard: Callable[[Sample], object]) -> None:
        self.max_off_policy_steps, self.on_discard = max_off_policy_steps, on_discard
        self._groups: deque[list[Sample]] = deque()

    def add(self, groups: Iterable[list[Sample]]) -> None:
        self._groups.extend(groups)

    def waiting(self) -> list[list[Sample]]:
        return list(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def evict(self, version: int) -> int:
        """Discard groups older than `max_off_policy_steps`; return the number of their samples."""
        fresh: deque[list[Sample]] = deque()
        discarded = 0
        for group in self._groups:
            if version - min(s.version_min for s in group) <= self.max_off_policy_steps:
                fresh.append(group)
                continue
            for sample in group:
                sample.discard_reason = "max_async"
                self.on_discard(sample)
            discarded += len(group)
        self._groups = fresh
        return discarded

    def sample(self, count: int) -> list[Sample]:
        """The samples of the `count` oldest groups."""
        return [sample for _ in range(min(count, len(self._groups))) for sample in self._groups.popleft()]
