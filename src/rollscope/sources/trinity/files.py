"""Trinity-RFT's buffers of experiences: SQL tables and JSONL. `pickled.py` reads the pickles."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.sources import Item, Mark, Records, RunStart, Since, Skipped
from rollscope.sources.files import sqlite
from rollscope.sources.files.sqlite import quoted
from rollscope.sources.files.wire import UNEXPECTED
from rollscope.sources.intake.gather import digest, number, run_id, whole
from rollscope.sources.intake.tables import text
from rollscope.sources.jsonl import described, first, lines

from .pickled import experience

COLUMNS = {"experience_bytes", "task_id", "run_id", "model_version"}  # of a table of experiences
BATCH = 500
SELECT = """
    select id, timestamp, task_id, run_id, model_version, reward, experience_bytes
    from {table} where id > ? order by id
"""


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".jsonl":
        row = first(path)
        return row is not None and isinstance(row.get("eid"), dict) and "response_text" in row
    return bool(_tables(path))


def _tables(path: Path) -> list[str]:
    names = sorted(sqlite.tables(path))
    if not names:
        return []
    db = sqlite.connect(path)
    try:
        columns = {name: {row[1] for row in db.execute(f"pragma table_info({quoted(name)})")} for name in names}
        return [name for name in names if columns[name] >= COLUMNS]
    except sqlite3.DatabaseError:
        return []
    finally:
        db.close()


def rows(path: Path, since: Since) -> Iterator[Item]:
    if path.suffix == ".jsonl":
        yield from _jsonl(path, since)
        return
    db = sqlite.connect(path)
    try:
        for table in _tables(path):
            yield from _table(db, path, table, since)
    except sqlite3.DatabaseError as error:
        yield Skipped(f"the database is damaged from here on: {error}", path)
    finally:
        db.close()
    if (why := sqlite.unread_log(path)) is not None:
        yield Skipped(why, path)


def _run(path: Path, buffer: str) -> RunStart:
    """The run of a buffer. Its file is in `<checkpoints>/<project>/<name>/buffer/`."""
    job = path.parent.parent if path.parent.name == "buffer" else path.parent
    name = f"{job.name}-{buffer}"
    facts = {"name": name, "project": job.parent.name, "framework": "trinity", "ended_ns": path.stat().st_mtime_ns}
    return RunStart(id=run_id(name, "trinity", path, buffer), kind="buffer", facts=facts)


def _table(db: sqlite3.Connection, path: Path, table: str, since: Since) -> Iterator[Item]:
    run = _run(path, table)
    yield run
    last = (since.get(run.id) or {"row": 0})["row"]
    (total,) = db.execute(f"select count(*) from {quoted(table)} where id > ?", (last,)).fetchone()
    cursor = db.execute(SELECT.format(table=quoted(table)), (last,))
    done = 0
    while some := cursor.fetchmany(BATCH):
        samples = []
        for row in some:
            last, done = row[0], done + 1
            try:
                samples.append(_pickled_sample(row, table))
            except UNEXPECTED as error:
                yield Skipped(f"row {row[0]} of {table} is not imported: {error}", path)
        yield Records("samples", samples)
        yield Mark({"row": last}, done, total)
    yield Mark({"row": last}, done, total)


def _pickled_sample(row: tuple[Any, ...], table: str) -> dict[str, Any]:
    id, stamp, task, repeat, version, reward, blob = row
    record = experience(blob)
    eid, fields = vars(getattr(record, "eid", record)), vars(record)
    tokens, prompt = _list(fields.get("tokens")), whole(fields.get("prompt_length")) or 0
    batch, mask = whole(eid.get("batch")), _list(fields.get("action_mask"))
    metrics = {name: number(value) for name, value in (fields.get("metrics") or {}).items()}
    sample: dict[str, Any] = {
        "id": f"{table}/{id}",
        "step": batch if batch is not None else whole(version) or 0,
        "time_ns": _time_ns(stamp),
        "group": f"{eid.get('batch', version)}/{task}",
        "task": task_of(fields, task),
        "repeat": repeat if repeat is not None else whole(eid.get("run")) or 0,
        "reward": number(reward) if reward is not None else number(fields.get("reward")),
        "policy_version_min": version,
        "policy_version_max": version,
        "prompt": text(fields.get("prompt_text")),
        "completion": text(fields.get("response_text")),
        "prompt_tokens": prompt or None,
        "token_ids": tokens[prompt:] if tokens else None,
        "completion_tokens": len(tokens) - prompt if tokens else None,
        "rollout_logp": _list(fields.get("logprobs")),
        "token_advantages": _list(fields.get("advantages")),
        "action_mask": [int(x) for x in mask] if mask else None,
        "sample_metrics": {name: value for name, value in metrics.items() if value is not None} or None,
    }
    return {name: value for name, value in sample.items() if value is not None}


def task_of(fields: Mapping[str, Any], fallback: Any) -> str:
    """A digest of the prompt: Trinity's own task ids count within a batch."""
    prompt = text(fields.get("prompt_text"))
    return digest(prompt) if prompt else str(fallback)


def _list(value: Any) -> list[Any] | None:
    return np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray | list) and np.size(value) else None


def _time_ns(stamp: Any) -> int:
    try:
        time = datetime.fromisoformat(str(stamp))
    except ValueError:
        return 0
    return min(round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e9), 2**63 - 1)


def _jsonl(path: Path, since: Since) -> Iterator[Item]:
    run = _run(path, path.stem)
    yield run
    size, at, time_ns = path.stat().st_size, (since.get(run.id) or {"at": 0})["at"], path.stat().st_mtime_ns
    samples: list[dict[str, Any]] = []
    for offset, row, end in lines(path, at):
        if end is None:
            yield Skipped("the file ends in the middle of a line; it is imported once it is complete", path, offset)
            break
        at = end
        if not isinstance(row, dict):
            yield Skipped(f"a line is not a JSON object ({described(row)})", path, offset)
            continue
        samples.append(_json_sample(row, offset, time_ns))
        if len(samples) >= BATCH:
            yield Records("samples", samples)
            yield Mark({"at": at}, at, size)
            samples = []
    if samples:
        yield Records("samples", samples)
    yield Mark({"at": at}, at, size)


def _json_sample(row: Mapping[str, Any], offset: int, time_ns: int) -> dict[str, Any]:
    eid, info = (value if isinstance(value := row.get(name), dict) else {} for name in ("eid", "info"))
    version, truncated = number(info.get("model_version")), row.get("truncate_status")
    return {
        "id": f"jsonl/{offset}",
        "step": whole(eid.get("batch")) or 0,
        "time_ns": time_ns,
        "group": f"{eid.get('batch')}/{eid.get('task')}",
        "task": task_of(row, eid.get("task")),
        "repeat": whole(eid.get("run")) or 0,
        "reward": number(row.get("reward")),
        "prompt": text(row.get("prompt_text")),
        "completion": text(row.get("response_text")),
        "messages": row.get("messages"),
        "prompt_tokens": row.get("prompt_length"),
        "completion_tokens": row.get("response_length"),
        "policy_version_min": None if version is None else int(version),
        "policy_version_max": None if version is None else int(version),
        "stop_reason": "length" if truncated == "response_truncated" else None,
        "sample_metrics": row.get("metrics") or None,
        "extra": {"truncate_status": truncated} if truncated else None,
    }
