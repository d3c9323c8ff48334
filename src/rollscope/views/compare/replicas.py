"""Groups of runs that differ in nothing but their seed, and the noise that they show.

Groups are found from records of the index, so that no run of a large project has to be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rollscope.statistics.noise import Noise, noise
from rollscope.store.run import Run
from rollscope.views.configuration import configuration

MOST_RUNS = 60  # that are opened to learn the noise of a project: the newest
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Replicas of one configuration."""

    runs: tuple[Run, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(run.id for run in self.runs)


def groups(records: Iterable[Record]) -> list[tuple[str, ...]]:
    """Ids by configuration. A run without a configuration stands alone."""
    found: dict[str, list[str]] = {}
    for record in records:
        key = configuration(record) or f"alone {record['id']}"
        found.setdefault(key, []).append(str(record["id"]))
    return [tuple(ids) for ids in found.values()]


def group_of(run: Run, records: Iterable[Record], open_run: Callable[[str], Run]) -> Group:
    """The run and its replicas that have ended, the run itself first."""
    ended = [record for record in records if record["id"] == run.id or record.get("state") != "running"]
    ids = next((ids for ids in groups(ended) if run.id in ids), (run.id,))
    return Group((run, *(open_run(id) for id in ids if id != run.id)))


def noise_of(found: Iterable[tuple[str, ...]], value: Callable[[str], float]) -> Noise:
    """How far replicas are apart in a value of the run of an id; NaN is no value."""
    repeated, opened = [], 0
    for ids in found:
        if len(ids) >= 2 and opened + len(ids) <= MOST_RUNS:
            repeated.append([value(id) for id in ids])
            opened += len(ids)
    return noise([[number for number in values if number == number] for values in repeated])
