"""Where names lie, as a log grows: the same as for a reader that opens the run afresh."""

from __future__ import annotations

import random
from typing import Any

from rollscope.catalog.partials.partial import Mean
from rollscope.store.folder import Folder
from rollscope.store.names.locations import Location
from rollscope.store.seal.logs import seal


def places(folder: Folder) -> dict[str, Any]:
    """Everything that is known of each name, apart from which reader it belongs to."""
    return {
        name: (location.simple, location.rows, location.kind, [_known(*part) for part in location.parts])
        for name, location in sorted(folder.locations().items())
    }


def _known(file: Any, i: int) -> tuple[Any, ...]:
    columns = (file.complete, file.attempt, file.lo, file.hi, file.rows, file.last, file.time_ns)
    values = [column[i].item() for column in columns]
    return file.names[i], file.kind[i], *(str(value) for value in values)  # NaN equals itself as a word


def follow(location: Location, resumed: dict[int, int]) -> bool:
    """Is a name simple: complete, current, no running total, and its files one after the other?"""
    parts = [(file, i) for file, i in location.parts]
    whole = all(file.complete[i] and file.kind[i] != "counter" for file, i in parts)
    current = all(file.attempt[i] >= newer or file.hi[i] < at for newer, at in resumed.items() for file, i in parts)
    ends, begins = [file.hi[i] for file, i in parts], [file.lo[i] for file, i in parts]
    return whole and current and begins == sorted(begins) and all(a < b for a, b in zip(ends, begins[1:], strict=False))


def test_a_run_that_grows_knows_its_names_as_one_that_is_opened(world: Any) -> None:
    choose, folder, simple = random.Random(0), Folder(str(world.run)), set()
    writers = [world.writer(1, rank=0), world.writer(2, rank=1)]
    for step in range(120):
        writer = writers[choose.random() < 0.2]
        names = ["a", "b", *(["late"] if step > 40 else []), *(["rare"] if choose.random() < 0.1 else [])]
        writer.metrics(step if choose.random() < 0.9 else step - 1, {name: step / 7 for name in names})
        if choose.random() < 0.3:
            writer.metrics(step, {"share": Mean(float(step), 2.0), "count": step})
        if choose.random() < 0.05:
            writer.metrics(step, {"a": 1.0}, env="maze")
        if step in (50, 90):
            writers[0].rotate()
            seal(str(world.run))
        if step == 100:
            writers[1] = world.writer(3, rank=0, attempt=2)
        folder.refresh()
        fresh = Folder(str(world.run))
        fresh.refresh()
        assert places(folder) == places(fresh), step
        for location in folder.locations().values():
            assert location.simple == follow(location, folder.resumed)
            simple.add(location.simple)
    assert simple == {True, False}


def test_times_stay_exact(world: Any) -> None:
    """A time in nanoseconds does not fit into a double."""
    writer = world.writer(1, rank=0)
    writer.metrics(0, {"a": 1.0}, time_ns=1_700_000_000_123_456_789)
    folder = Folder(str(world.run))
    folder.refresh()
    [(file, i)] = folder.locations()["a"].parts
    assert file.time_ns[i] == 1_700_000_000_123_456_789
