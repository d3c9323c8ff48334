"""JSON lines, in three shapes: an object per log call, veRL's file logger, Rollscope's JSONL sink.

veRL's lines are `{"step": ..., "data": {...}}`. The step is the first of the usual keys (`step`,
`_step`, `global_step`, ...), else the number of the line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from rollscope.sources.files import offset
from rollscope.sources.files.lines import LONGEST
from rollscope.sources.files.lines import lines as raw_lines
from rollscope.sources.intake.gather import Gather, number, run_id, spelled, whole
from rollscope.sources.intake.guess import origin
from rollscope.store.schema import TABLES

from . import Item, Mark, Records, Restart, RunStart, Since, Skipped

NAMES = ("jsonl", "json lines")
ORDER = 10  # after every source that reads a particular kind of JSONL
MANY = 200_000  # values between two marks
STEPS = (
    *("step", "_step", "global_step", "train/global_step", "training/global_step", "trainer/global_step"),
    *("iteration", "iter", "steps"),
)
LOOK = 20  # lines at which a file is recognised: the first ones may be damaged
DEEPEST = 64  # levels of objects in a line
OwnStep = Callable[[dict[str, Any]], dict[str, Any]]  # a line -> the line, with its step as `step`
TIMES = ("time_ns", "_timestamp", "timestamp", "time", "wall_time", "ts", "created_at")


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".jsonl", ".ndjson"):
        return False
    return first(path) is not None


def first(path: Path) -> dict[str, Any] | None:
    """The first JSON object of the first lines, or None."""
    try:
        near = takewhile(lambda line: line[0] < LONGEST, lines(path, 0, LOOK))
        return next((value for _, value, _ in near if isinstance(value, dict)), None)
    except OSError:
        return None


def rows(path: Path, since: Since) -> Iterator[Item]:
    id = run_id(path.stem, "jsonl", path)
    facts = {"name": path.stem, "project": path.parent.name, "ended_ns": path.stat().st_mtime_ns}
    yield from numbers(path, since, RunStart(id=id, kind=NAMES[0], facts={**facts, **origin(_names(path))}))


def numbers(path: Path, since: Since, run: RunStart, own_step: OwnStep | None = None) -> Iterator[Item]:
    """The numbers in a file of lines, as those of a run. `own_step` finds the step of a line."""
    yield run
    cursor = since.get(run.id) or offset.start(path)
    if run.id in since and not offset.continues(path, cursor):
        yield Restart("the file was rewritten since the last import; it is read from the start")
        cursor = offset.start(path)
    yield from _rows(path, cursor, own_step)


def _names(path: Path) -> set[str]:
    """The names in the first lines."""
    objects = [value for _, value, _ in lines(path, 0, 50) if isinstance(value, dict)]
    return {name for value in objects for name in (value["data"] if isinstance(value.get("data"), dict) else value)}


def _rows(path: Path, cursor: Mapping[str, Any], own_step: OwnStep | None) -> Iterator[Item]:
    gather, others, fallback = Gather(path), dict[str, list[dict[str, Any]]](), path.stat().st_mtime_ns
    at, line, size = cursor["at"], cursor["line"], path.stat().st_size
    for begin, value, end in lines(path, at):
        if end is None:
            yield Skipped("the file ends in the middle of a line; it is imported once it is complete", path, begin)
            break
        at, line = end, line + 1
        if not isinstance(value, dict):
            yield Skipped(f"line {line} is not a JSON object ({described(value)})", path, begin)
            continue
        try:
            take(value if own_step is None else own_step(value), line, fallback, gather, others)
        except ValueError as error:
            yield Skipped(f"line {line} is not imported: {error}", path, begin)
        if gather.count >= MANY:
            yield from flush(gather, others)
            yield Mark(offset.reached(path, at, line), at, size)
    yield from flush(gather, others)
    yield from gather.skipped()
    yield Mark(offset.reached(path, at, line), at, size)


def lines(path: Path, at: int, most: int = 1 << 62) -> Iterator[tuple[int, Any, int | None]]:
    """Yield (offset, value, offset of the next line) of the lines that are not empty.

    A line that is not JSON has the error as its value; an unfinished one has no next offset.
    """
    for begin, raw, end in islice(raw_lines(path, at), most):
        if raw is None:
            yield begin, ValueError(f"it has more than {LONGEST >> 20} MB"), end
        elif raw.strip():
            try:
                yield begin, json.loads(raw), end
            except (ValueError, RecursionError) as error:
                yield begin, error, end if raw.endswith(b"\n") else None


def described(value: Any) -> str:
    """What stands in a line instead of an object."""
    if isinstance(value, RecursionError):
        return "it is nested too deeply"
    return str(value) if isinstance(value, Exception) else f"a {type(value).__name__}"


def take(
    value: dict[str, Any], line: int, fallback: int, gather: Gather, others: dict[str, list[dict[str, Any]]]
) -> None:
    """Add the numbers of a line to `gather`, or its row to the table it names in `others`."""
    nested = isinstance(value.get("data"), dict)
    if nested and value.get("table") in TABLES:
        _take_row(value, fallback, gather, others)
        return
    data = value["data"] if nested and set(value) <= {"step", "data", "timestamp", "time"} else value
    flat = dict(flatten(data))
    step, time_ns = step_of({**flat, **value}, line - 1), time_of({**flat, **value}, fallback)
    numbers = {name: v for name, v in flat.items() if name not in TIMES and name not in ("step", "_step")}
    gather.add(step, time_ns, {name: v if type(v) is float else spelled(v) for name, v in numbers.items()})


def _take_row(value: dict[str, Any], fallback: int, gather: Gather, others: dict[str, list[dict[str, Any]]]) -> None:
    """A row of Rollscope's JSONL sink."""
    step, time_ns, data = value.get("step"), whole(value.get("time_ns")) or fallback, value["data"]
    if value["table"] == "metrics":
        gather.add(whole(step) or 0, time_ns, data)
    else:
        row = {"time_ns": time_ns, **({} if step is None else {"step": step}), **data}
        others.setdefault(value["table"], []).append(row)


def flush(gather: Gather, others: dict[str, list[dict[str, Any]]]) -> Iterator[Item]:
    yield from gather.points()
    for table, table_rows in others.items():
        yield Records(table, table_rows)
    others.clear()


def flatten(data: Mapping[str, Any], prefix: str = "", level: int = 1) -> Iterator[tuple[str, Any]]:
    if level > DEEPEST:
        raise ValueError(f"it has objects in more than {DEEPEST} levels")
    for name, value in data.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}/", level + 1)
        else:
            yield prefix + name, value


def step_of(row: Mapping[str, Any], fallback: int) -> int:
    return next((step for name in STEPS if (step := whole(spelled(row.get(name)))) is not None), fallback)


def time_of(row: Mapping[str, Any], fallback: int) -> int:
    """Nanoseconds from an ISO text, or from s, ms or ns, which are told apart by their size."""
    for name in TIMES:
        value = row.get(name)
        if isinstance(value, str):
            try:
                return round(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1e9)
            except (ValueError, OverflowError):
                continue
        if (time := number(value)) is not None and 1e8 < time < 2**63:
            return round(time * 1e9) if time < 1e11 else round(time * 1e6) if time < 1e14 else int(time)
    return fallback
