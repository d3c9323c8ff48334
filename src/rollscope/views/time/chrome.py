"""The timeline as a Chrome trace for Perfetto and chrome://tracing.

Each part of the machine is a process, each lane a track. Both viewers expect the spans of a track
to be nested or one after the other, and drop others. Spans of a lane that overlap in another way
(requests of an asynchronous server) therefore go to further tracks of that lane. Causes of spans
are flows, which the viewers draw as arrows. Nothing is lost: `rollscope import` reads it back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope import whole_file
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.strict_json import plain

ARGUMENTS = ("step", "microbatch", "minibatch", "group", "sample", "version", "queued_ns", "causes", "data")
ORIGIN = "rollscope_origin"  # a metadata event with the time of the first span
PROGRESS_EVERY = 10_000  # spans
Track = tuple[str, int]  # a lane, and the number of the track in it
Progress = Callable[[int, int], None]


def write(run: Run, path: str, tell: Progress = lambda done, total: None) -> int:
    """Write the spans of a run; return their number. `tell(done, total)` reports progress."""
    spans = run.spans()
    count = len(spans["start_ns"])
    with whole_file.written(path) as aside, open(aside, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        for i, event in enumerate(_events(spans)):
            file.write((",\n" if i else "") + json.dumps(plain(event), ensure_ascii=False))
            if i % PROGRESS_EVERY == 0:
                tell(min(i, count), count)
        file.write("\n]}\n")
    tell(count, count)
    return count


def _events(spans: Columns) -> Iterator[dict[str, Any]]:
    """Names of processes and tracks, then one event per span."""
    lanes = [lane or "" for lane in spans["lane"].tolist()]
    start = spans["start_ns"]
    end = np.maximum(spans["end_ns"], start)  # if the clock went back, the span has no length
    placed = list(zip(lanes, tracks(lanes, start, end), strict=True))
    track_ids = {track: i for i, track in enumerate(sorted(set(placed)))}
    process_ids = {part: i for i, part in enumerate(sorted({part_of(lane) for lane in lanes}))}
    if len(start):
        yield {"ph": "M", "name": ORIGIN, "pid": 0, "args": {"ns": int(start[0])}}
    yield from _names(track_ids, process_ids)
    where = [{"pid": process_ids[part_of(lane)], "tid": track_ids[lane, number]} for lane, number in placed]
    since = start - start[0] if len(start) else start
    for i in range(len(placed)):  # in microseconds since the first span: doubles keep nanoseconds
        yield _event(spans, i) | where[i] | {"ts": int(since[i]) / 1e3, "dur": int(end[i] - start[i]) / 1e3}
    yield from _flows(spans, where, since, end - start)


def _flows(spans: Columns, where: list[dict[str, int]], since: Any, length: Any) -> Iterator[dict[str, Any]]:
    """An arrow from each cause to its effect; a viewer binds its ends to the spans around them."""
    place = {key: i for i, key in enumerate(_keys(spans))}
    number = 0
    for i, causes in enumerate(spans["causes"].tolist()):
        for cause in (place[key] for key in causes or () if key in place):
            number += 1
            flow = {"name": "cause", "cat": "cause", "id": number}
            leaves = int(since[cause]) + max(0, int(length[cause]) - 1)
            yield {"ph": "s", **flow, **where[cause], "ts": leaves / 1e3}
            yield {"ph": "f", "bp": "e", **flow, **where[i], "ts": int(since[i]) / 1e3}


def _keys(spans: Columns) -> list[str]:
    return [f"{writer}:{id}" for writer, id in zip(spans["writer"].tolist(), spans["id"].tolist(), strict=True)]


def tracks(lanes: list[str], start: NDArray[np.int64], end: NDArray[np.int64]) -> list[int]:
    """For each span the first track of its lane where it is inside the open spans, or after."""
    numbers = [0] * len(lanes)
    open_ends: dict[str, list[list[int]]] = {}  # lane -> for each track the ends of open spans, innermost last
    for i in np.lexsort((-end, start)).tolist():
        lo, hi = int(start[i]), int(end[i])
        of_lane = open_ends.setdefault(lanes[i], [])
        numbers[i] = next((number for number, ends in enumerate(of_lane) if _fits(ends, lo, hi)), len(of_lane))
        if numbers[i] == len(of_lane):
            of_lane.append([])
        of_lane[numbers[i]].append(hi)
    return numbers


def _fits(ends: list[int], lo: int, hi: int) -> bool:
    while ends and ends[-1] <= lo:
        ends.pop()
    return not ends or hi <= ends[-1]


def part_of(lane: str) -> str:
    """The part of the machine a lane belongs to: its first word."""
    return lane.split("/")[0]


def _names(track_ids: dict[Track, int], process_ids: dict[str, int]) -> Iterator[dict[str, Any]]:
    for part, pid in process_ids.items():
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": part or "run"}}
    for (lane, number), tid in track_ids.items():
        track = {"ph": "M", "pid": process_ids[part_of(lane)], "tid": tid}
        name = (lane or "run") + (f" ({number + 1})" if number else "")
        yield {**track, "name": "thread_name", "args": {"name": name}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": tid}}


def _event(spans: Columns, i: int) -> dict[str, Any]:
    """A complete event without its track and times."""
    values = {name: plain(spans[name][i]) for name in ARGUMENTS if not _missing(spans[name][i])}
    arguments = {name: int(value) if _is_whole(value) else value for name, value in values.items()}
    own = {"key": f"{spans['writer'][i]}:{spans['id'][i]}", "lane": spans["lane"][i] or ""}
    return {"ph": "X", "name": spans["name"][i] or "", "cat": spans["kind"][i] or "work", "args": arguments | own}


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()
