"""TRL's files: `log_history.json` or `trainer_state.json`, and the completions that GRPO writes.

A folder with them is one run. The log has no times, so its rows get the time of the file.
Completions (Parquet) have no ids and no groups: rows of one file with the same prompt are a group.
An evaluation at the same step overwrites TRL's file of training completions without a trace in the
file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, Records, Restart, RunStart, Since, Skipped
from rollscope.sources.files import columnar, jsonlist
from rollscope.sources.intake.gather import Gather, digest, run_id, whole
from rollscope.sources.intake.guess import algorithm, framework
from rollscope.sources.intake.tables import text

COMPLETIONS = re.compile(r"completions_(\d+)\.parquet")
CHECKPOINT = re.compile(r"checkpoint-(\d+)")
STATES = ("log_history.json", "trainer_state.json")
BATCH = 256  # samples that are passed on together
OWN = ("step", "prompt", "completion", "advantage")  # columns of TRL itself


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    return path.name in STATES or bool(COMPLETIONS.fullmatch(path.name))


def rows(path: Path, since: Since) -> Iterator[Item]:
    root = root_of(path)
    id = run_id(root.name, "trl", root)
    if path.suffix == ".parquet":
        yield from _completions(path, id, root, since)
    else:
        yield from _history(path, id, root, since)


def root_of(path: Path) -> Path:
    """The folder of the run, above `completions` and `checkpoint-N`."""
    folder = path.parent
    return folder.parent if folder.name == "completions" or CHECKPOINT.fullmatch(folder.name) else folder


def _history(path: Path, id: str, root: Path, since: Since) -> Iterator[Item]:
    if (longer := _longer(path, root)) is not None:
        yield Skipped(f"{longer} holds this log and more", path)
        return
    history, damaged = jsonlist.read(path, "log_history")
    yield RunStart(id=id, kind="log", facts=_facts(root, history, path))
    cursor = since.get(id) or {"entries": 0}
    if cursor["entries"] and cursor.get("digest") != _digest(history[: cursor["entries"]]):
        yield Restart("the log was rewritten since the last import; it is read from the start")
        cursor = {"entries": 0}
    time_ns = path.stat().st_mtime_ns
    gather = Gather(path)
    for i, entry in enumerate(history[cursor["entries"] :], cursor["entries"]):
        if not isinstance(entry, dict) or whole(entry.get("step")) is None:
            yield Skipped(f"entry {i} of the log has no step", path)
            continue
        for split, values in by_split(entry).items():
            gather.add(whole(entry["step"]) or 0, time_ns, values, split)
    yield from gather.points()
    yield from gather.skipped()
    yield from damaged
    yield Mark({"entries": len(history), "digest": _digest(history)}, 1, 1)


def by_split(entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """An entry's numbers, evaluation apart from training."""
    splits: dict[str, dict[str, Any]] = {"train": {}, "eval": {}}
    for name, value in entry.items():
        if name != "step":
            splits["eval" if name.startswith("eval_") else "train"][name] = value
    if splits["eval"] and set(splits["train"]) <= {"epoch"}:  # the epoch belongs to the evaluation
        splits = {"eval": {**splits["train"], **splits["eval"]}}
    return {split: values for split, values in splits.items() if values}


def _digest(history: Sequence[Any]) -> str:
    return digest(json.dumps(history, sort_keys=True))


def _longer(path: Path, root: Path) -> Path | None:
    """A file of the same run that contains this one: the run's own log, or a later checkpoint's."""
    if path.name == STATES[0]:
        return None
    for own in (root / STATES[0], root / STATES[1]):
        if own != path and own.exists():
            return own
    steps = {p: _checkpoint(p) for p in root.glob(f"checkpoint-*/{STATES[1]}")}
    last = max(steps, key=lambda p: steps[p], default=path)
    return last if 0 <= _checkpoint(path) < _checkpoint(last) else None


def _checkpoint(path: Path) -> int:
    """The step of the checkpoint that a file lies in; -1 if it lies in none."""
    match = CHECKPOINT.fullmatch(path.parent.name)
    return int(match[1]) if match else -1


def _facts(root: Path, history: Sequence[Any], path: Path) -> dict[str, Any]:
    names = {name for entry in history if isinstance(entry, dict) for name in entry}
    versions = _meta(root)
    dialect = framework(names) or "trl"
    if "trl" in versions and dialect.startswith("trl"):
        dialect += f"@{versions['trl']}"
    return {
        "name": root.name,
        "project": "trl",
        "framework": dialect,
        "algorithm": algorithm(dialect),
        "ended_ns": path.stat().st_mtime_ns,
        "environment": versions or None,
    }


def _meta(root: Path) -> dict[str, Any]:
    """Versions of packages, from an optional `meta.json` beside the log."""
    try:
        meta = json.loads((root / "meta.json").read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return {key: value for key, value in meta.items() if isinstance(value, str)} if isinstance(meta, dict) else {}


def _completions(path: Path, id: str, root: Path, since: Since) -> Iterator[Item]:
    yield RunStart(id=id, kind="completions", facts={"name": root.name, "project": "trl", "framework": "trl"})
    stat = path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    if since.get(id) == cursor:
        yield Mark(cursor, 1, 1)
        return
    if id in since:
        yield Restart("the file was rewritten since the last import; it is read from the start")
    damaged: list[Skipped] = []
    rows = samples(columnar.good(columnar.parquet(columnar.opened(path), path), damaged), path, stat.st_mtime_ns)
    while batch := list(islice(rows, BATCH)):
        yield Records("samples", batch)
    yield from damaged
    yield Mark(cursor, 1, 1)


def samples(table: Iterable[Mapping[str, Any]], path: Path, time_ns: int) -> Iterator[dict[str, Any]]:
    """The rows of a file of completions, as samples."""
    match = COMPLETIONS.fullmatch(path.name)
    file = int(match[1]) if match else 0
    groups: dict[str, int] = {}  # prompt -> number of its group
    repeats: dict[str, int] = {}
    for i, row in enumerate(table):
        prompt = text(row.get("prompt")) or ""
        group = groups.setdefault(prompt, len(groups))
        repeat = repeats[prompt] = repeats.get(prompt, -1) + 1
        rewards = {name: value for name, value in row.items() if name not in OWN and isinstance(value, int | float)}
        yield {
            "id": f"{file}/{i}",
            "step": whole(row.get("step")) or file,
            "time_ns": time_ns,
            "group": f"{file}/{group}",
            "task": digest(prompt),
            "repeat": repeat,
            "rewards": rewards or None,
            "advantage": _known(row.get("advantage")),
            "prompt": prompt,
            "completion": text(row.get("completion")),
            "messages": _messages(row),
            "extra": {k: v for k, v in row.items() if k not in OWN and k not in rewards and v is not None} or None,
        }


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _messages(row: Mapping[str, Any]) -> list[Any] | None:
    prompt, completion = row.get("prompt"), row.get("completion")
    return [*prompt, *completion] if isinstance(prompt, list) and isinstance(completion, list) else None
