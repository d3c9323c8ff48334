"""Evaluations as JSON lines: `{"task": "0147", "score": 1, "answer": "18", "prompt": "..."}`.

Keys are those of `run.log_eval`; `set` names the set (default: the name of the file), `prompt` and
`completion` make a sample. Rows of one task without a `repeat` are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.intake.evaluation import LONGEST_NAME, Evaluations, content_digest, finite, scores_of, text_of
from rollscope.sources.intake.gather import run_id, whole

from . import NO_STEP, Item, Mark, Restart, RunStart, Since, Skipped
from .jsonl import described, first, lines

NAMES = ("evaluations", "evaluation rows")
ORDER = 4  # before datasets of rollouts: a row may have a prompt and a completion


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".jsonl", ".ndjson"):
        return False
    row = first(path)
    return row is not None and _is_row(row)


def _is_row(row: Any) -> bool:
    scored = isinstance(row, Mapping) and (isinstance(row.get("scores"), Mapping) or "score" in row or "failed" in row)
    return scored and isinstance(row.get("task"), str | int)


def rows(path: Path, since: Since) -> Iterator[Item]:
    stat, digest = path.stat(), content_digest(path)
    id = run_id(path.stem, "evaluations", path)
    facts = {"name": path.stem, "project": path.parent.name, "ended_ns": stat.st_mtime_ns}
    yield RunStart(id=id, kind=NAMES[0], facts=facts, alone=None if "step" in (first(path) or {}) else NO_STEP)
    if since.get(id) != digest:
        if id in since:
            yield Restart("the file was rewritten since the last import; it is read from the start")
        yield from _rows(path, digest, stat.st_mtime_ns)
    yield Mark(digest, stat.st_size, stat.st_size)


def _rows(path: Path, digest: str, time_ns: int) -> Iterator[Item]:
    found, tries = Evaluations(time_ns), Counter[tuple[int | None, str, str]]()
    for offset, line, _ in lines(path, 0):
        if not _is_row(line):
            why = "it lacks a task or a score" if isinstance(line, Mapping) else described(line)
            yield Skipped(f"a line is no evaluation row ({why}): left out", path, offset)
            continue
        row = _row(line, path.stem)
        place = (row.get("step"), row["set"], row["task"])
        row["repeat"] = tries[place] if row["repeat"] is None else row["repeat"]
        tries[place] += 1
        found.add(row, _sample(line, f"{digest[:8]}/{offset}"))
        yield from found.full()
    yield from found.rest()


def _row(line: Mapping[str, Any], name: str) -> dict[str, Any]:
    scores = line.get("scores")
    given = scores if isinstance(scores, Mapping) else {"score": line.get("score")}
    tags = line.get("tags")
    step = whole(line.get("step"))
    return {
        **({} if step is None else {"step": step}),
        "set": str(line.get("set") or name)[:LONGEST_NAME],
        "task": str(line["task"])[:LONGEST_NAME],
        "repeat": whole(line.get("repeat")),
        "scores": scores_of(given),
        "answer": text_of(line.get("answer")),
        "failed": line.get("failed") is True or all(value is None for value in given.values()),
        "turns": whole(line.get("turns")),
        "tokens": whole(line.get("tokens")),
        "seconds": finite(line.get("seconds")),
        "stop_reason": text_of(line.get("stop_reason")),
        "cluster": text_of(line.get("cluster")),
        "tags": [str(tag) for tag in tags] if isinstance(tags, list) else None,
    }


def _sample(line: Mapping[str, Any], id: str) -> dict[str, Any] | None:
    prompt, completion = text_of(line.get("prompt")), text_of(line.get("completion"))
    return {"id": id, "prompt": prompt, "completion": completion} if prompt or completion else None
