"""The timeline as a Chrome trace, which Perfetto and chrome://tracing open: one track per lane, one process per part of the machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from rollscope.store.plain import plain


def write(run: Any, path: str, tell: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Write the spans of a run; how many there were."""
    found = run.spans()
    lanes = {lane: i for i, lane in enumerate(sorted({lane or "" for lane in found["lane"].tolist()}))}
    parts = {part: i for i, part in enumerate(sorted({lane.split("/")[0] for lane in lanes}))}
    count = len(found["start_ns"])
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        file.write(",\n".join(json.dumps(event) for event in _tracks(lanes, parts)))
        for i in range(count):
            file.write((",\n" if i or lanes else "") + json.dumps(_event(found, i, lanes, parts), ensure_ascii=False))
            if i % 10_000 == 0:
                tell(i, count)
        file.write("\n]}\n")
    tell(count, count)
    return count


def _tracks(lanes: dict[str, int], parts: dict[str, int]) -> list[dict[str, Any]]:
    names = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": part or "run"}} for part, pid in parts.items()]
    return names + [
        {"ph": "M", "name": "thread_name", "pid": parts[lane.split("/")[0]], "tid": tid, "args": {"name": lane or "run"}} for lane, tid in lanes.items()
    ]


def _event(found: dict[str, Any], i: int, lanes: dict[str, int], parts: dict[str, int]) -> dict[str, Any]:
    """A complete event; times are microseconds from the first span, so that doubles keep the nanoseconds."""
    lane, start = found["lane"][i] or "", int(found["start_ns"][i])
    origin = int(found["start_ns"][0])
    said = {name: found[name][i] for name in ("step", "microbatch", "minibatch", "group", "sample", "data")}
    args = {name: plain(value) for name, value in said.items() if value is not None and not (isinstance(value, float) and np.isnan(value))}
    whole = {name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in args.items()}
    event = {"ph": "X", "name": found["name"][i], "cat": found["kind"][i] or "work", "pid": parts[lane.split("/")[0]], "tid": lanes[lane]}
    return {**event, "ts": (start - origin) / 1e3, "dur": (int(found["end_ns"][i]) - start) / 1e3, "args": whole}
