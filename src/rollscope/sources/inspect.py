"""Logs of Inspect, as `.eval` files or JSON: a row per sample and epoch, with its conversation.

A sample that ended in an error has failed. One that the log lacks, because the evaluation stopped
early, has failed too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rollscope.sources.files import archive
from rollscope.sources.intake.evaluation import Evaluations, content_digest, finite, scores_of, text_of
from rollscope.sources.intake.gather import run_id, whole

from . import NO_STEP, Item, Mark, Restart, RunStart, Since, Skipped, SourceError

NAMES = ("inspect", "inspect ai")
ORDER = -1  # a `.json` log is told from other JSON by its first keys
HEAD = re.compile(rb'\s*\{\s*"version":\s*\d+\s*,\s*"status":\s*"')
HEADERS = ("header.json", "_journal/start.json")  # the second is all there is while a log is written
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partly, incorrect, no answer
MOST_MISSING = 100_000  # samples that a log says it lacks


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".eval", ".json"):
        return False
    with path.open("rb") as file:
        head = file.read(200)
    return head[:2] == b"PK" if path.suffix == ".eval" else HEAD.match(head) is not None


def rows(path: Path, since: Since) -> Iterator[Item]:
    digest, stat = content_digest(path), path.stat()
    header, samples = _zip(path) if path.suffix == ".eval" else _json(path)
    about = header.get("eval")
    if not isinstance(about, Mapping):
        raise SourceError("it is no log of Inspect: it says nothing about the evaluation")
    name = str(about.get("task") or path.stem)
    id = run_id(f"{name}-{about.get('model') or 'model'}", "inspect", path)
    facts = {"name": name, "project": path.parent.name, "ended_ns": stat.st_mtime_ns, "config": _config(about)}
    yield RunStart(id=id, kind=NAMES[0], facts=facts, alone=NO_STEP)
    if since.get(id) != digest:
        if id in since:
            yield Restart("the log was rewritten since the last import; it is read from the start")
        yield from _rows(path, about, name, samples, _time(about) or stat.st_mtime_ns)
    yield Mark(digest, stat.st_size, stat.st_size)


def _config(about: Mapping[str, Any]) -> dict[str, Any]:
    return {key: about[key] for key in ("task", "model", "task_args", "model_args") if about.get(key)}


def _zip(path: Path) -> tuple[Mapping[str, Any], Iterator[Any]]:
    heads = dict(archive.entries(path, lambda name: name in HEADERS))
    found = next((heads[name] for name in HEADERS if isinstance(heads.get(name), bytes)), None)
    if found is None:
        raise SourceError("it is no log of Inspect: it has no header.json")
    header = _parsed(found, path, "header.json")
    if isinstance(header, Skipped) or not isinstance(header, Mapping):
        raise SourceError("its header.json is no JSON object")
    return header, _unpacked(path)


def _unpacked(path: Path) -> Iterator[Any]:
    for name, content in archive.entries(path, lambda name: name.startswith("samples/")):
        yield content if isinstance(content, Skipped) else _parsed(content, path, name)


def _parsed(content: Any, path: Path, name: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        return Skipped(f"{name} is not valid JSON ({str(error)[:200]})", path)


def _json(path: Path) -> tuple[Mapping[str, Any], Iterator[Any]]:
    log = _parsed(path.read_bytes(), path, "the log")
    if isinstance(log, Skipped):
        raise SourceError(log.why)
    samples = log.get("samples") or []
    return log, iter(samples if isinstance(samples, list) else [])


def _time(about: Mapping[str, Any]) -> int | None:
    try:
        return round(datetime.fromisoformat(str(about.get("created"))).timestamp() * 1e9)
    except (ValueError, OverflowError):
        return None


def _rows(path: Path, about: Mapping[str, Any], name: str, samples: Iterator[Any], time_ns: int) -> Iterator[Item]:
    found, seen = Evaluations(time_ns), set[tuple[str, int]]()
    for sample in samples:
        if isinstance(sample, Skipped):
            yield sample
        elif not isinstance(sample, Mapping) or sample.get("id") is None:
            yield Skipped("a sample has no id: left out", path)
        else:
            row = _row(sample, name)
            seen.add((row["task"], row["repeat"]))
            found.add(row, _sample(sample, row, str(about.get("eval_id") or path.stem)))
            yield from found.full()
    for task, repeat in _missing(about, seen):
        found.add({"set": name, "task": task, "repeat": repeat, "scores": {}, "failed": True})
    yield from found.rest()


def _missing(about: Mapping[str, Any], seen: set[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Samples of the data set that the log lacks."""
    ids = _mapping(about.get("dataset")).get("sample_ids")
    epochs = whole(_mapping(about.get("config")).get("epochs")) or 1
    if isinstance(ids, list) and len(ids) * epochs <= MOST_MISSING:
        planned = ((str(task), repeat) for task in ids for repeat in range(epochs))
        yield from (one for one in planned if one not in seen)


def _row(sample: Mapping[str, Any], name: str) -> dict[str, Any]:
    scores = _mapping(sample.get("scores"))
    given = dict(_scores(scores))
    output = _mapping(sample.get("output"))
    usage = _mapping(output.get("usage"))
    epoch = whole(sample.get("epoch"))
    return {
        "set": name,
        "task": str(sample["id"]),
        "repeat": max(0, (1 if epoch is None else epoch) - 1),
        "scores": given,
        "answer": next((text for text in map(_answer, scores.values()) if text is not None), None),
        "failed": sample.get("error") is not None or not given,
        "tokens": whole(usage.get("output_tokens")),
        "stop_reason": _stop_reason(output),
        "seconds": finite(sample.get("total_time")),
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _answer(score: Any) -> str | None:
    return text_of(score.get("answer")) if isinstance(score, Mapping) else None


def _scores(scores: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each score as a number; one with several values is several scores."""
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        graded = {key: GRADES.get(part, part) if isinstance(part, str) else part for key, part in parts.items()}
        yield from scores_of(graded).items()


def _stop_reason(output: Mapping[str, Any]) -> str | None:
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("stop_reason") if isinstance(first, Mapping) else None
    return None if reason is None else {"max_tokens": "length", "model_length": "length"}.get(str(reason), str(reason))


def _sample(sample: Mapping[str, Any], row: Mapping[str, Any], eval_id: str) -> dict[str, Any]:
    return {
        "id": f"{eval_id}/{row['task']}/{row['repeat']}",
        "prompt": text_of(sample.get("input")),
        "completion": text_of(_mapping(sample.get("output")).get("completion")),
        "messages": _chat(sample.get("messages")),
        "answer": text_of(sample.get("target")),
        "completion_tokens": row["tokens"],
        "stop_reason": row["stop_reason"],
        "error": _error(sample.get("error")),
    }


def _chat(messages: Any) -> list[dict[str, str]] | None:
    if not isinstance(messages, list):
        return None
    turns = [message for message in messages if isinstance(message, Mapping)]
    return [{"role": str(turn.get("role")), "content": text_of(turn.get("content")) or ""} for turn in turns]


def _error(error: Any) -> str | None:
    return None if error is None else str(error.get("message") if isinstance(error, Mapping) else error)
