"""The timeline as a Chrome trace, which Perfetto and chrome://tracing open: one process per part of the machine, and a track per lane.

Both take the spans of a track to lie inside each other or one after the other, and drop what does not. Spans of a lane that overlap otherwise (requests of
an asynchronous server) therefore lie on further tracks of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.strict_json import plain

SAID = ("step", "microbatch", "minibatch", "group", "sample", "data")
Track = tuple[str, int]  # a lane, and which of its tracks


def write(run: Any, path: str, tell: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Write the spans of a run; how many there were."""
    found = run.spans()
    lanes = [lane or "" for lane in found["lane"].tolist()]
    start, end = (
        found["start_ns"],
        np.maximum(found["end_ns"], found["start_ns"]),
    )  # a clock that went back leaves a span without length
    placed = list(zip(lanes, tracks(lanes, start, end), strict=True))
    ids = {track: i for i, track in enumerate(sorted(set(placed)))}
    parts = {part: i for i, part in enumerate(sorted({part_of(lane) for lane in lanes}))}
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        file.write(",\n".join(_json(event) for event in _names(ids, parts)))
        for i, track in enumerate(placed):
            place = {
                "pid": parts[part_of(track[0])],
                "tid": ids[track],
                "ts": int(start[i] - start[0]) / 1e3,
                "dur": int(end[i] - start[i]) / 1e3,
            }
            file.write(",\n" + _json(_event(found, i) | place))
            if i % 10_000 == 0:
                tell(i, len(placed))
        file.write("\n]}\n")
    tell(len(placed), len(placed))
    return len(placed)


def tracks(lanes: list[str], start: NDArray[np.int64], end: NDArray[np.int64]) -> list[int]:
    """For each span the first track of its lane on which it lies inside the spans that are open there, or after them."""
    out = [0] * len(lanes)
    open_until: dict[
        str, list[list[int]]
    ] = {}  # lane -> of each track the ends of the spans that are open, innermost last
    for i in np.lexsort((-end, start)).tolist():
        lo, hi = int(start[i]), int(end[i])
        found = open_until.setdefault(lanes[i], [])
        out[i] = next((number for number, ends in enumerate(found) if _fits(ends, lo, hi)), len(found))
        found += [[]] if out[i] == len(found) else []
        found[out[i]].append(hi)
    return out


def _fits(ends: list[int], lo: int, hi: int) -> bool:
    while ends and ends[-1] <= lo:
        ends.pop()
    return not ends or hi <= ends[-1]


def part_of(lane: str) -> str:
    return lane.split("/")[0]


def _names(ids: dict[Track, int], parts: dict[str, int]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": part or "run"}} for part, pid in parts.items()
    ]
    for (lane, number), tid in ids.items():
        place = {"ph": "M", "pid": parts[part_of(lane)], "tid": tid}
        out.append(
            {**place, "name": "thread_name", "args": {"name": (lane or "run") + (f" ({number + 1})" if number else "")}}
        )
        out.append({**place, "name": "thread_sort_index", "args": {"sort_index": tid}})
    return out


def _event(found: dict[str, Any], i: int) -> dict[str, Any]:
    """A complete event without its place; times will be microseconds from the first span, so that doubles keep the nanoseconds."""
    said = {name: found[name][i] for name in SAID}
    args = {
        name: plain(value)
        for name, value in said.items()
        if value is not None and not (isinstance(value, float) and np.isnan(value))
    }
    whole = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in args.items()
    }
    return {"ph": "X", "name": found["name"][i] or "", "cat": found["kind"][i] or "work", "args": whole}


def _json(event: dict[str, Any]) -> str:
    return json.dumps(plain(event), ensure_ascii=False)
