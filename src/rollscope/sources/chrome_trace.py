"""Chrome's trace format (Perfetto, torch's profiler, RLinf's tracer): a JSON file or JSON lines.

Complete events (`X`) and begin / end pairs (`B`, `E`) become spans, and arrows between them causes.
A lane is a process and a thread, by name if the trace names them. A trace that `rollscope export`
wrote comes back whole, with its times, lanes and causes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rollscope.sources.files.flow import PHASES, Flows, has_any
from rollscope.sources.intake.gather import number, run_id, whole

from . import Item, Mark, Records, Restart, RunStart, Since, Skipped, SourceError
from .jsonl import described, lines

NAMES = ("chrome trace", "perfetto", "rlinf trace")
BATCH = 20_000
ORIGIN = "rollscope_origin"  # the event in which our export says when its first span began
COLUMNS = ("step", "microbatch", "minibatch", "rank", "version", "queued_ns")


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".json", ".jsonl", ".trace"):
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    if path.suffix == ".jsonl":
        return b'"ph"' in head and b'"ts"' in head
    return b'"traceEvents"' in head or (head.lstrip()[:1] == b"[" and b'"ph"' in head)


def rows(path: Path, since: Since) -> Iterator[Item]:
    id = run_id(path.stem, "trace", path)
    stat = path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    facts = {"name": path.stem, "project": path.parent.name, "ended_ns": stat.st_mtime_ns}
    yield RunStart(id=id, kind=NAMES[0], facts=facts)
    if since.get(id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if id in since:
        yield Restart("the trace was rewritten since the last import; it is read from the start")
    skipped: list[Skipped] = []
    flows = Flows() if has_any(path) else None
    spans: Iterable[dict[str, Any]] = spans_of(events(path, skipped), path, skipped, flows)
    if flows is not None:
        spans = list(spans)  # an arrow may come before the slices that it joins
        flows.link()
    for batch in batched(spans, BATCH):
        yield Records("spans", batch)
    yield from skipped
    yield Mark(cursor, stat.st_size, stat.st_size)


def events(path: Path, skipped: list[Skipped]) -> Iterable[Any]:
    """The events of a trace; damage is added to `skipped`."""
    if path.suffix == ".jsonl":
        yield from _event_lines(path, skipped)
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        trace = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield from _events_before_cut(text, error, path, skipped)
        return
    listed = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(listed, list):
        raise SourceError(f"expected a list of events, got a {type(listed).__name__}")
    yield from listed


def _event_lines(path: Path, skipped: list[Skipped]) -> Iterator[dict[str, Any]]:
    for offset, value, end in lines(path, 0):
        if isinstance(value, dict):
            yield value
        else:
            why = "the file ends in the middle of a line" if end is None else f"a line is not JSON ({described(value)})"
            skipped.append(Skipped(why, path, offset))


def _events_before_cut(text: str, error: Exception, path: Path, skipped: list[Skipped]) -> Iterator[dict[str, Any]]:
    """The events of a trace that is cut off because its writer was stopped."""
    at = text.find("[") + 1
    decoder = json.JSONDecoder()
    count = 0
    while at:
        at = next((i for i in range(at, len(text)) if text[i] not in " ,\r\n\t"), len(text))
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        count += 1
        if isinstance(event, dict):
            yield event
    if not count:
        raise SourceError(f"not valid JSON: {error}")
    skipped.append(Skipped("the trace is cut off here; the events before it are imported", path, at))


def batched(spans: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    source = iter(spans)
    while batch := list(islice(source, size)):
        yield batch


def spans_of(
    events: Iterable[Any], path: Path, skipped: list[Skipped], flows: Flows | None = None
) -> Iterator[dict[str, Any]]:
    """The spans that the events describe, numbered from 1."""
    names: dict[tuple[str, Any], str] = {}
    open_: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    ours = _Ours()
    count = 0
    odd = 0
    for event in events:
        if not isinstance(event, dict):
            odd += 1
            continue
        phase, lane = event.get("ph"), (_word(event.get("pid")), _word(event.get("tid")))
        args = args if isinstance(args := event.get("args"), dict) else {}
        if phase == "M" and event.get("name") in ("process_name", "thread_name"):
            names[event["name"], lane if event["name"] == "thread_name" else lane[0]] = str(args.get("name"))
        elif phase == "M" and event.get("name") == ORIGIN:
            ours.origin = whole(args.get("ns")) or 0
        elif phase == "B":
            open_.setdefault(lane, []).append(event)
        elif phase == "E" and open_.get(lane):
            begin = open_[lane].pop()
            count += 1
            span = _span(count, begin, number(event.get("ts")), names, lane)
            if flows is not None:
                flows.saw(lane, begin, span)
            yield span
        elif phase == "X":
            count += 1
            end = (number(event.get("ts")) or 0) + (number(event.get("dur")) or 0)
            span = ours.restored(_span(count, event, end, names, lane), event)
            if flows is not None and not ours.origin:
                flows.saw(lane, event, span)
            yield span
        elif phase in PHASES and flows is not None:
            flows.add(lane, event, _nanoseconds(number(event.get("ts")) or 0))
    if odd:
        skipped.append(Skipped(f"{odd} events are not objects", path))
    left = sum(map(len, open_.values()))
    if left:
        skipped.append(Skipped(f"{left} events begin and never end", path))


class _Ours:
    """Gives spans of our own export back what a trace has no place for."""

    def __init__(self) -> None:
        self.origin = 0  # of its times
        self._ids: dict[str, int] = {}  # key in the exported run -> number of the span here

    def restored(self, span: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
        data = span["data"] or {}
        if not isinstance(data.get("key"), str) or not isinstance(data.get("lane"), str):
            return span
        self._ids[data.pop("key")] = span["id"]
        span |= {"lane": data.pop("lane"), "kind": str(event.get("cat") or "work")}
        span |= {column: str(data.pop(column)) for column in ("group", "sample") if column in data}
        causes = data.pop("causes", None)
        if isinstance(causes, list):
            span["causes"] = [str(self._ids[key]) for key in causes if key in self._ids]
        times = {name: span[name] + self.origin for name in ("start_ns", "end_ns")}
        return {**span, **times, "data": data.get("data")}


def _word(value: Any) -> str | int | float | None:
    """A process or thread as a key: a number or a text."""
    return value if isinstance(value, str | int | float) or value is None else str(value)[:200]


def _span(
    id: int, event: dict[str, Any], end_us: float | None, names: dict[tuple[str, Any], str], lane: tuple[Any, Any]
) -> dict[str, Any]:
    args = dict(args) if isinstance(args := event.get("args"), dict) else {}
    process = names.get(("process_name", lane[0]), str(lane[0]))
    thread = names.get(("thread_name", lane), str(lane[1]))
    start, name = number(event.get("ts")) or 0, str(event.get("name"))
    kind = "wait" if "wait" in name.lower() else "work"
    span = {"id": id, "name": name, "lane": f"{process}/{thread}", "kind": kind}
    for column in COLUMNS:
        if (value := whole(args.get(column))) is not None:
            span[column] = value
            del args[column]
    times = {"start_ns": _nanoseconds(start), "end_ns": _nanoseconds(end_us or start)}
    return {**span, **times, "data": args or None}


def _nanoseconds(microseconds: float) -> int:
    """0 for a time that does not fit into 64 bits."""
    return round(microseconds * 1000) if abs(microseconds) < 9e15 else 0
