"""Groups that wait to be trained on. `sample` gives the oldest that are still fresh enough; the others leave with the reason `max_async`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from .player import Sample


class Buffer:
    def __init__(self, max_off_policy_steps: int, settled: Callable[[Sample], object]) -> None:
        self.most, self.settled = max_off_policy_steps, settled
        self._groups: deque[list[Sample]] = deque()

    def add(self, groups: Iterable[list[Sample]]) -> None:
        self._groups.extend(groups)

    def waiting(self) -> list[list[Sample]]:
        return list(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def samples(self) -> int:
        return sum(map(len, self._groups))

    def evict(self, version: int) -> int:
        """Let go of groups written by weights more than `max_off_policy_steps` behind `version`; how many samples that were."""
        fresh: deque[list[Sample]] = deque()
        gone = 0
        for group in self._groups:
            if version - min(s.version_min for s in group) <= self.most:
                fresh.append(group)
                continue
            for sample in group:
                sample.discard_reason = "max_async"
                self.settled(sample)
            gone += len(group)
        self._groups = fresh
        return gone

    def sample(self, count: int) -> list[Sample]:
        """The samples of the `count` oldest groups."""
        return [sample for _ in range(min(count, len(self._groups))) for sample in self._groups.popleft()]
