"""Telescope's event archives (`events/*.zip`, `steps/*.zip`: Parquet tables in a zip) and its UI's DuckDB file: the same tables in two wrappers.

Samples, kept, discarded and cancelled, with their turns and tool calls; trainer spans; step metrics; host and engine metrics. All archives below the folder of
a run are one run. A block that is still growing is written again and again by Telescope: rows are told apart by their ids, so reading it again adds only what is new.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.intake.gather import Gather, number, run_id, whole

from . import Item, Mark, Records, Run, Since, Skipped, SourceError

NAMES = ("telescope",)
Rows = list[dict[str, Any]]
Table = Callable[[str], Rows]  # the rows of a table, none where there is no such table
ENDS = {"max_tokens": "length", "eos": "stop", "tool_call": "tool"}  # its words for how a generation ended -> ours
FATES = {
    "": None,
    "_kept": None,
    "_discarded": "discarded",
    "_cancelled": "cancelled",
}  # suffix of the tables -> discard reason where none is said


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".zip" and path.parent.name in ("events", "steps"):
        return path.stem == "tail" or path.stem.startswith("block_")
    if path.suffix != ".duckdb":
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def rows(path: Path, since: Since) -> Iterator[Item]:
    yield from _archive(path, since) if path.suffix == ".zip" else _database(path, since)


def _archive(path: Path, since: Since) -> Iterator[Item]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    root = path.parent.parent
    id = run_id(root.name, "telescope", root)
    stat = path.stat()
    cursor: dict[str, Any] = {"file": [stat.st_size, stat.st_mtime_ns]}
    before = since.get(id) or {}
    yield Run(
        id=id,
        kind=f"{path.parent.name}",
        facts={"name": root.name, "project": "telescope", "framework": "telescope", "ended_ns": stat.st_mtime_ns},
    )
    if before.get("file") == cursor["file"]:
        yield Mark(before, stat.st_size, stat.st_size)
        return
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise SourceError(f"the archive is damaged: {error}") from error
    skipped: list[Skipped] = []

    def table(name: str) -> Rows:
        try:
            return pq.read_table(io.BytesIO(archive.read(f"{name}.parquet"))).to_pylist()  # type: ignore[no-any-return]
        except KeyError:
            return []
        except (pa.ArrowException, ValueError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
            skipped.append(Skipped(f"{name}.parquet inside it is damaged: {error}", path))
            return []

    with archive:
        yield from _items(table, path, set(before.get("seen", ())), cursor)
    yield from skipped
    yield Mark(cursor, stat.st_size, stat.st_size)


def _database(path: Path, since: Since) -> Iterator[Item]:
    import duckdb

    try:
        db = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise SourceError(
            f"the DuckDB file cannot be opened ({error}). Stop the Telescope UI first: it holds the file for itself"
        ) from error
    try:
        yield from _runs(db, path, since)
    except duckdb.Error as error:
        raise SourceError(f"the DuckDB file is damaged: {_line(error)}") from error
    finally:
        db.close()


def _line(error: Exception) -> str:
    """The first line of a message that may be a page."""
    return str(error).partition("\n")[0]


def _runs(db: Any, path: Path, since: Since) -> Iterator[Item]:
    import duckdb

    known = {row[0] for row in db.execute("select table_name from information_schema.tables").fetchall()}
    for run, name, project, config in db.execute("select run_id, name, project, config_json from runs").fetchall():
        id = run_id(name or run, "telescope", run)
        before = since.get(id) or {}
        skipped: list[Skipped] = []
        yield Run(
            id=id,
            kind="duckdb",
            facts={
                "name": name or run,
                "project": project or "telescope",
                "framework": "telescope",
                "config": _config(config),
            },
        )

        def table(name: str, run: str = run) -> Rows:
            if name not in known:
                return []
            try:
                cursor = db.execute(f'select * from "{name}" where run_id = ?', [run])
                columns = [column[0] for column in cursor.description or ()]
                return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
            except duckdb.Error as error:
                skipped.append(Skipped(f"the table {name} is damaged: {_line(error)}", path))  # noqa: B023  # read before the next run
                return []

        cursor: dict[str, Any] = {}
        yield from _items(table, path, set(before.get("seen", ())), cursor)
        yield from skipped
        yield Mark(cursor)


def _config(text: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _items(table: Table, path: Path, seen: set[str], cursor: dict[str, Any]) -> Iterator[Item]:
    """Everything of one archive, or of one run of a database, that was not there the last time."""
    found: list[tuple[str, Rows]] = []
    for suffix, reason in FATES.items():
        samples, turns = _samples(table, suffix, reason)
        found += [("samples", samples), ("turns", turns)]
    found += [
        ("samples", _evaluated(table)),
        ("spans", [*_spans(table), *_phases(table)]),
        ("host", _host(table)),
        ("notes", _logs(table)),
    ]
    for name, rows in found:
        fresh = [row for row in rows if (key := f"{name}/{_identity(name, row)}") not in seen and not seen.add(key)]  # type: ignore[func-returns-value]
        if fresh:
            yield Records(name, fresh)
    gather = Gather(path)
    for row in [*table("metrics"), *table("step_metrics")]:  # in an archive, and in the database
        key = f"metrics/{row['step']}/{_metric(row)}"
        if key not in seen:
            seen.add(key)
            gather.add(whole(row["step"]) or 0, 0, {_metric(row): row["value"]})
    yield from gather.points()
    cursor["seen"] = sorted(seen)


def _identity(table: str, row: Mapping[str, Any]) -> str:
    if table == "samples":
        return str(row["id"])
    keys = {
        "turns": ("sample", "turn", "role"),
        "spans": ("name", "lane", "start_ns"),
        "host": ("time_ns", "device", "name"),
        "notes": ("time_ns", "text"),
    }
    return "/".join(str(row.get(key)) for key in keys[table])


def _metric(row: Mapping[str, Any]) -> str:
    """Telescope cut the name into section, group and metric; this is what was logged."""
    parts = [row.get("section"), row.get("group"), row.get("metric_name") or row["metric"]]
    return "/".join(str(part) for part in parts if part and str(part).lower() != "general")


def _samples(table: Table, suffix: str, reason: str | None) -> tuple[Rows, Rows]:
    prompts = {row["group_id"]: row for row in table(f"prompts{suffix}")}
    generations, responses, calls = (
        _by_sample(table(f"{name}{suffix}")) for name in ("generations", "env_responses", "tool_calls")
    )
    metrics, answers = _by_sample(table(f"rollouts_metrics{suffix}")), _by_sample(table(f"golden_answers{suffix}"))
    tags = _by_sample(table(f"sample_tags{suffix}"))
    samples, turns = [], []
    for row in table(f"samples_data{suffix}"):
        id, prompt = row["sample_id"], prompts.get(row["group_id"], {})
        own = sorted(generations[id], key=lambda g: g.get("generation_idx") or 0)
        step = row.get("step") if row.get("step") is not None else row.get("trainer_step")
        sample = _sample(row, str(id), step, prompt, own, calls[id])
        sample |= {
            "sample_metrics": {m["metric_name"]: m["value"] for m in metrics[id]} or None,
            "answer": next((str(a["value"]) for a in answers[id]), None),
        }
        sample["tags"] = [f"{t['tag_name']}={t['tag_value']}" for t in tags[id]] or None
        sample |= (
            {"trained": False, "discard_reason": row.get("discard_reason") or reason} if reason else {"trained": True}
        )
        samples.append({key: value for key, value in sample.items() if value is not None})
        turns += _turns(str(id), step, own, responses[id], calls[id])
    return samples, turns


def _by_sample(rows: Rows) -> defaultdict[Any, Rows]:
    found: defaultdict[Any, Rows] = defaultdict(list)
    for row in rows:
        found[row.get("sample_id")].append(row)
    return found


def _sample(
    row: Mapping[str, Any], id: str, step: Any, prompt: Mapping[str, Any], own: Rows, calls: Rows
) -> dict[str, Any]:
    stops = [ENDS.get(g.get("stop_reason") or "", g.get("stop_reason")) for g in own]
    return {
        "id": id,
        "step": step,
        "time_ns": _ns(row.get("timestamp")),
        "group": str(row["group_id"]),
        "env": prompt.get("env"),
        "prompt": prompt.get("prompt"),
        "prompt_tokens": prompt.get("tokens_prompt"),
        "completion": "\n".join(plain(g.get("content")) for g in own) if own else plain(row.get("raw_string")),
        "completion_tokens": sum(int(g.get("tokens") or 0) for g in own) if own else None,
        "reward": number(row.get("reward")),
        "advantage": number(row.get("advantage")),
        "turns": row.get("num_generations"),
        "tool_calls": len(calls) or None,
        "tool_failures": sum(c.get("success") is False for c in calls) if calls else None,
        "reward_seconds": number(row.get("compute_reward_time")),
        "stop_reason": "length"
        if "length" in stops
        else row.get("stop_reason") or next((s for s in reversed(stops) if s), None),
        "off_policy_steps": row.get("off_policy_steps"),
    }


def _turns(sample: str, step: Any, own: Rows, responses: Rows, calls: Rows) -> Rows:
    found: list[tuple[tuple[int, int], dict[str, Any]]] = []
    for g in own:
        at = (g.get("generation_idx") or 0, 0)
        found.append(
            (
                at,
                {
                    "role": "assistant",
                    "content": plain(g.get("content")),
                    "tokens": g.get("tokens"),
                    "stop_reason": g.get("stop_reason"),
                    "seconds": number(g.get("e2e_latency")),
                },
            )
        )
    for c in calls:
        result = {
            "role": "tool",
            "tool": c.get("tool_name"),
            "arguments": c.get("arguments"),
            "result": plain(c.get("result")),
            "ok": c.get("success"),
            "tokens": c.get("result_tokens"),
        }
        found.append(((c.get("generation_idx") or 0, 1), result))
    for r in responses:
        found.append(
            (
                (r.get("generation_idx") or 0, 2),
                {
                    "role": "environment",
                    "content": plain(r.get("content")),
                    "tokens": r.get("tokens"),
                    "seconds": number(r.get("response_time")),
                },
            )
        )
    found.sort(key=lambda pair: pair[0])
    return [
        {"sample": sample, "turn": i, "step": step, **{k: v for k, v in turn.items() if v is not None}}
        for i, (_, turn) in enumerate(found)
    ]


def _spans(table: Table) -> Rows:
    spans = []
    for i, row in enumerate([*table("trainer"), *table("events_trainer")]):
        kind = "wait" if "wait" in row["event_type"] or "barrier" in row["event_type"] else "work"
        span = {
            "id": i + 1,
            "name": row["event_type"],
            "lane": f"trainer/{row.get('rank') or 0}",
            "kind": kind,
            "rank": row.get("rank"),
            "step": row.get("step"),
        }
        span |= {
            "microbatch": row.get("microbatch"),
            "minibatch": row.get("minibatch"),
            "start_ns": _ns(row["start_time"]),
            "end_ns": _ns(row["end_time"]),
        }
        spans.append({key: value for key, value in span.items() if value is not None and value != -1})
    return spans


def _evaluated(table: Table) -> Rows:
    """Completions of evaluations: a row of the set, and which of its tries."""
    keys = ("eval_name", "step", "sample_idx", "completion_idx")
    own: dict[Any, Rows] = {}
    metrics: dict[Any, Rows] = {}
    for name, by in (("generations_eval", own), ("rollouts_metrics_eval", metrics)):
        for row in table(name):
            by.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    prompts = {tuple(row.get(key) for key in keys[:3]): row for row in table("prompts_eval")}
    found = []
    for row in table("samples_data_eval"):
        key = tuple(row.get(name) for name in keys)
        asked, said = prompts.get(key[:3], {}), sorted(own.get(key, []), key=lambda g: g.get("generation_idx") or 0)
        sample = {
            "id": "eval/" + "/".join(map(str, key)),
            "step": row.get("step"),
            "split": "eval",
            "env": row.get("eval_name"),
            "task": str(key[2]),
        }
        sample |= {
            "repeat": row.get("completion_idx"),
            "prompt": asked.get("prompt"),
            "prompt_tokens": asked.get("tokens_prompt"),
        }
        sample |= {
            "completion": "\n".join(plain(g.get("content")) for g in said),
            "completion_tokens": sum(int(g.get("tokens") or 0) for g in said),
        }
        sample |= {
            "sample_metrics": {m["metric_name"]: m["value"] for m in metrics.get(key, [])} or None,
            "turns": row.get("num_generations"),
        }
        found.append({name: value for name, value in sample.items() if value is not None})
    return found


def _phases(table: Table) -> Rows:
    """Generations, rewards, environment responses and weight updates: each begins in one row and ends in another."""
    begun: dict[Any, float] = {}
    spans: Rows = []
    for row in sorted([*table("events_rollout"), *table("events_infra")], key=lambda r: r["timestamp"]):
        key = tuple(
            row.get(name)
            for name in ("event_type", "sample_id", "agent_id", "generation_idx", "tool_call_idx", "server_id", "step")
        )
        if row.get("phase") == "start":
            begun[key] = row["timestamp"]
        elif row.get("phase") == "end" and key in begun:
            server, lane = (
                row.get(name) if row.get(name) not in (None, -1) else 0 for name in ("server_id", "server_lane")
            )
            span = {
                "name": row["event_type"],
                "lane": f"inference/{server}/{lane}",
                "kind": "work",
                "step": row.get("step"),
                "sample": row.get("sample_id"),
            }
            span |= {"start_ns": _ns(begun.pop(key)), "end_ns": _ns(row["timestamp"])}
            spans.append(
                {
                    "id": len(spans) + 1,
                    **{name: value for name, value in span.items() if value is not None and value != -1},
                }
            )
    return [{**span, "sample": str(span["sample"])} if "sample" in span else span for span in spans]


def _host(table: Table) -> Rows:
    found = []
    for name, device in (
        ("gpu", "gpu"),
        ("system_metrics_gpu", "gpu"),
        ("cpu", "cpu"),
        ("system_metrics_cpu", "cpu"),
        ("vllm", "engine"),
        ("vllm_metrics", "engine"),
    ):
        for row in table(name):
            number_ = row.get("gpu_index", row.get("server"))
            where = f"{device}{'' if number_ is None else number_}"
            found.append(
                {
                    "time_ns": _ns(row["timestamp"]),
                    "host": str(row.get("node_id", "")),
                    "device": where,
                    "name": row["metric_name"],
                    "value": row["value"],
                }
            )
    return found


def _logs(table: Table) -> Rows:
    return [
        {
            "time_ns": _ns(row["timestamp"]),
            "text": str(row["message"]),
            "kind": "output",
            "data": {"level": row.get("level"), "component": row.get("component")},
        }
        for row in table("logs")
    ]


def _ns(seconds: Any) -> int:
    return round((number(seconds) or 0) * 1e9)


def plain(value: Any) -> str:
    """Text, which Telescope keeps compressed."""
    if value is None or isinstance(value, str):
        return value or ""
    import pyarrow as pa

    try:
        return pa.CompressedInputStream(pa.BufferReader(bytes(value)), "zstd").read().decode("utf-8", "replace")  # type: ignore[no-any-return]
    except (OSError, pa.ArrowException):
        return bytes(value).decode("utf-8", "replace")
