"""Compare every object of a lake with its checksum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rollscope.errors import CorruptFile
from rollscope.lake.cache.bringing import fetched

from . import engine
from .objects import Objects
from .place import Place
from .spool import Object, held


@dataclass(frozen=True, slots=True)
class Problem:
    """An object that is not as it was shipped."""

    run: str
    name: str
    key: str
    says: str


@dataclass(slots=True)
class Checked:
    """What a check looked at, and what it found."""

    runs: int
    objects: int
    bytes: int
    problems: list[Problem]


def check(place: Place, progress: Callable[[int, int], None] | None = None) -> Checked:
    """Read every object that a run needs. `progress(done, total)` is called after each run."""
    runs = _held(place)
    objects, result = Objects(place), Checked(len(runs), 0, 0, [])
    for done, (run, parts) in enumerate(runs.items()):
        for part in parts:
            result.objects += 1
            result.bytes += part.bytes
            if says := _problem(objects, part):
                result.problems.append(Problem(run, part.name, part.key, says))
        if progress is not None:
            progress(done + 1, len(runs))
    return result


def _problem(objects: Objects, part: Object) -> str:
    try:
        for _ in fetched(objects, part):
            pass
    except CorruptFile as error:
        return str(error)
    return ""


def _held(place: Place) -> dict[str, list[Object]]:
    """The objects of each run that make up its files of now."""
    with engine.connected(place, read_only=True) as connection:
        rows = connection.execute(
            "SELECT run, name, kind, start, bytes, sha256, key, time_ns FROM lake.book.objects"
            " ORDER BY run, ship, kind = 'gone' DESC, name, start"
        ).fetchall()
    by_run: dict[str, list[Object]] = {}
    for run, *row in rows:
        by_run.setdefault(run, []).append(Object(*row))
    return {run: [part for parts in held(found).values() for part in parts] for run, found in by_run.items()}
