"""Chrome's trace format (Perfetto, torch's profiler, RLinf's tracer): a JSON file, or one event per line. Events become spans.

Complete events (`X`) and begin / end pairs (`B`, `E`) are taken; a lane is a process and a thread, by their names where the trace gives them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rollscope.sources.intake.gather import number, run_id, whole

from . import Item, Mark, Records, Restart, Run, Since, Skipped, SourceError
from .jsonl import lines

NAMES = ("chrome trace", "perfetto", "rlinf trace")
BATCH = 20_000


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
    yield Run(
        id=id, kind=NAMES[0], facts={"name": path.stem, "project": path.parent.name, "ended_ns": stat.st_mtime_ns}
    )
    if since.get(id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if id in since:
        yield Restart("the trace was written again since it was last imported: it is read anew")
    skipped: list[Skipped] = []
    spans: list[dict[str, Any]] = []
    for span in spans_of(events(path, skipped), path, skipped):
        spans.append(span)
        if len(spans) >= BATCH:
            yield Records("spans", spans)
            spans = []
    if spans:
        yield Records("spans", spans)
    yield from skipped
    yield Mark(cursor, stat.st_size, stat.st_size)


def events(path: Path, skipped: list[Skipped]) -> Iterable[dict[str, Any]]:
    if path.suffix == ".jsonl":
        for offset, value, end in lines(path, 0):
            if isinstance(value, dict):
                yield value
            else:
                skipped.append(
                    Skipped(
                        "the file ends in the middle of a line" if end is None else f"a line is not JSON ({value})",
                        path,
                        offset,
                    )
                )
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        found = json.loads(text)
    except ValueError as error:
        yield from _cut(text, error, path, skipped)
        return
    yield from found.get("traceEvents", []) if isinstance(found, dict) else found


def _cut(text: str, error: ValueError, path: Path, skipped: list[Skipped]) -> Iterator[dict[str, Any]]:
    """A trace whose writer was stopped ends anywhere; the events before that are whole."""
    at = text.find("[") + 1
    decoder = json.JSONDecoder()
    taken = 0
    while at:
        at = next((i for i in range(at, len(text)) if text[i] not in " ,\r\n\t"), len(text))
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        taken += 1
        if isinstance(event, dict):
            yield event
    if not taken:
        raise SourceError(f"not valid JSON: {error}")
    skipped.append(Skipped("the trace is cut off here; the events before are taken", path, at))


def spans_of(found: Iterable[dict[str, Any]], path: Path, skipped: list[Skipped]) -> Iterator[dict[str, Any]]:
    names: dict[tuple[str, Any], str] = {}
    open_: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    count = 0
    for event in found:
        phase, lane = event.get("ph"), (event.get("pid"), event.get("tid"))
        said = event.get("args")
        args = said if isinstance(said, dict) else {}
        if phase == "M" and event.get("name") in ("process_name", "thread_name"):
            names[event["name"], lane if event["name"] == "thread_name" else lane[0]] = str(args.get("name"))
        elif phase == "B":
            open_.setdefault(lane, []).append(event)
        elif phase == "E" and open_.get(lane):
            begin = open_[lane].pop()
            count += 1
            yield _span(count, begin, number(event.get("ts")), names, lane)
        elif phase == "X":
            count += 1
            yield _span(count, event, (number(event.get("ts")) or 0) + (number(event.get("dur")) or 0), names, lane)
    left = sum(map(len, open_.values()))
    if left:
        skipped.append(Skipped(f"{left} events begin and never end", path))


def _span(
    id: int, event: dict[str, Any], end_us: float | None, names: dict[tuple[str, Any], str], lane: tuple[Any, Any]
) -> dict[str, Any]:
    args = dict(event.get("args") or {})
    process, thread = names.get(("process_name", lane[0]), str(lane[0])), names.get(("thread_name", lane), str(lane[1]))
    start = number(event.get("ts")) or 0
    span = {
        "id": id,
        "name": str(event.get("name")),
        "lane": f"{process}/{thread}",
        "kind": "wait" if "wait" in str(event.get("name")).lower() else "work",
    }
    for column in ("step", "microbatch", "minibatch", "rank"):
        if (value := whole(args.get(column))) is not None:
            span[column] = value
            del args[column]
    return {**span, "start_ns": round(start * 1000), "end_ns": round((end_us or start) * 1000), "data": args or None}
