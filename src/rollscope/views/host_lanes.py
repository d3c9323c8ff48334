"""What each host of a run did, by the lanes that its processes recorded: trainer/0 to 7."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from rollscope.store.run import Run

LISTED = 4  # numbers of a part that are named one by one


def lanes_by_host(run: Run, host_rows: pa.Table) -> dict[str, set[str]]:
    """Host -> units whose spans its processes recorded. A process is known by its writer."""
    lanes: dict[str, set[str]] = {}
    for writer, lane in _pairs(run.table("spans", ("writer", "lane"), as_arrow=True), "writer", "lane"):
        lanes.setdefault(writer, set()).add("/".join(lane.split("/")[:2]))
    found: dict[str, set[str]] = {}
    for host, writer in _pairs(host_rows, "host", "writer"):
        found.setdefault(host, set()).update(lanes.get(writer, ()))
    return found


def _pairs(table: pa.Table, first: str, second: str) -> Iterable[tuple[str, str]]:
    different = table.select([first, second]).group_by([first, second]).aggregate([])
    return zip(*([text or "" for text in different[name].to_pylist()] for name in (first, second)), strict=True)


def told(units: Iterable[str]) -> str:
    """Units as words: `trainer/0 to 7, inference/2 and 3`."""
    numbers: dict[str, list[int]] = {}
    alone = []
    for unit in units:
        part, _, number = unit.partition("/")
        if number.isdecimal():
            numbers.setdefault(part, []).append(int(number))
        elif unit:
            alone.append(unit)
    return ", ".join([*(f"{part}/{_listed(sorted(own))}" for part, own in sorted(numbers.items())), *sorted(alone)])


def _listed(numbers: list[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 2 and last - first == len(numbers) - 1:
        return f"{first} to {last}"
    if len(numbers) > LISTED:
        return f"{first} to {last}, {len(numbers)} of them"
    return " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(last)]))
