"""What a TRL run leaves on disk: `log_history.json` or `trainer_state.json`, and the completions GRPO writes as Parquet.

A folder with them is one run. The log has no times, so its rows carry the time of the file. Completions have no ids and no groups: rows of
one file with the same prompt are a group. An evaluation at the same step replaces TRL's file of training completions, and nothing in it says so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, Records, Restart, Run, Since, Skipped, SourceError
from rollscope.sources.files import jsonlist
from rollscope.sources.intake.gather import Gather, run_id, whole
from rollscope.sources.intake.guess import algorithm, framework
from rollscope.sources.intake.tables import text

COMPLETIONS = re.compile(r"completions_(\d+)\.parquet")
CHECKPOINT = re.compile(r"checkpoint-(\d+)")
STATES = ("log_history.json", "trainer_state.json")
OWN = ("step", "prompt", "completion", "advantage")


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
    folder = path.parent
    return folder.parent if folder.name == "completions" or CHECKPOINT.fullmatch(folder.name) else folder


def _history(path: Path, id: str, root: Path, since: Since) -> Iterator[Item]:
    if (better := _longer(path, root)) is not None:
        yield Skipped(f"{better} holds the same log, and more of it", path)
        return
    history, damaged = jsonlist.read(path, "log_history")
    yield Run(id=id, kind="log", facts=_facts(root, history, path))
    cursor = since.get(id) or {"entries": 0}
    if cursor["entries"] and cursor.get("digest") != _digest(history[: cursor["entries"]]):
        yield Restart("the log was rewritten since it was last imported: it is read anew")
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
    found: dict[str, dict[str, Any]] = {"train": {}, "eval": {}}
    for name, value in entry.items():
        if name != "step":
            found["eval" if name.startswith("eval_") else "train"][name] = value
    if found["eval"]:  # the epoch of an evaluation entry belongs to it
        found = (
            {"train": {}, "eval": {**found["train"], **found["eval"]}} if not set(found["train"]) - {"epoch"} else found
        )
    return {split: values for split, values in found.items() if values}


def _digest(history: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(history, sort_keys=True).encode(), digest_size=8).hexdigest()


def _longer(path: Path, root: Path) -> Path | None:
    """A file of the same run that holds all of this one: the root's own log, or a later checkpoint's."""
    if path.name == STATES[0]:
        return None
    for own in (root / STATES[0], root / STATES[1]):
        if own != path and own.exists():
            return own
    here = CHECKPOINT.fullmatch(path.parent.name)
    later = {
        int(m[1]): p for p in root.glob("checkpoint-*/trainer_state.json") if (m := CHECKPOINT.fullmatch(p.parent.name))
    }
    return later[max(later)] if here and later and max(later) > int(here[1]) else None


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
    """Versions, where somebody noted them beside the log."""
    try:
        found = json.loads((root / "meta.json").read_text())
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _completions(path: Path, id: str, root: Path, since: Since) -> Iterator[Item]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    yield Run(id=id, kind="completions", facts={"name": root.name, "project": "trl", "framework": "trl"})
    stat = path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    if since.get(id) == cursor:
        yield Mark(cursor, 1, 1)
        return
    if id in since:
        yield Restart("the file was written again since it was last imported: it is read anew")
    try:
        table = (
            pq.ParquetFile(path).read(use_threads=False).to_pylist()
        )  # small files, thousands of them: threads cost more than they save
    except (pa.ArrowException, ValueError, OSError) as error:
        raise SourceError(f"not a whole Parquet file: {error}") from error
    yield Records("samples", list(samples(table, path, stat.st_mtime_ns)))
    yield Mark(cursor, 1, 1)


def samples(table: Sequence[Mapping[str, Any]], path: Path, time_ns: int) -> Iterator[dict[str, Any]]:
    match = COMPLETIONS.fullmatch(path.name)
    file = int(match[1]) if match else 0
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(table):
        prompt = text(row.get("prompt")) or ""
        members = groups.setdefault(prompt, [])
        rewards = {name: value for name, value in row.items() if name not in OWN and isinstance(value, int | float)}
        extra = {
            name: value for name, value in row.items() if name not in OWN and name not in rewards and value is not None
        }
        task = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        yield {
            "id": f"{file}/{i}",
            "step": whole(row.get("step")) or file,
            "time_ns": time_ns,
            "group": f"{file}/{len(groups) - 1 if not members else members[0]}",
            "task": task,
            "repeat": len(members),
            "rewards": rewards or None,
            "advantage": row.get("advantage")
            if row.get("advantage") is not None and not math.isnan(row["advantage"])
            else None,
            "prompt": prompt,
            "completion": text(row.get("completion")),
            "messages": [*row["prompt"], *row["completion"]]
            if isinstance(row.get("prompt"), list) and isinstance(row.get("completion"), list)
            else None,
            "extra": extra or None,
        }
        members.append(len(groups) - 1 if not members else members[0])
