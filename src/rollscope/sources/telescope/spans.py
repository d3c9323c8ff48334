"""Telescope's spans, host metrics and log lines as rows of our tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rollscope.sources.intake.gather import number

Rows = list[dict[str, Any]]
Table = Callable[[str], Rows]  # name of a table -> its rows; empty if there is no such table
HOST = {  # table, in an archive or in the database -> device
    "gpu": "gpu",
    "system_metrics_gpu": "gpu",
    "cpu": "cpu",
    "system_metrics_cpu": "cpu",
    "vllm": "engine",
    "vllm_metrics": "engine",
}
PHASE = ("event_type", "sample_id", "agent_id", "generation_idx", "tool_call_idx", "server_id", "step")


def time_ns(seconds: Any) -> int:
    return round((number(seconds) or 0) * 1e9)


def trainer(table: Table) -> Rows:
    """Spans of the trainer."""
    spans = []
    for i, row in enumerate([*table("trainer"), *table("events_trainer")]):
        waits = "wait" in row["event_type"] or "barrier" in row["event_type"]
        span = {
            "id": i + 1,
            "name": row["event_type"],
            "lane": f"trainer/{row.get('rank') or 0}",
            "kind": "wait" if waits else "work",
            **{name: row.get(name) for name in ("rank", "step", "microbatch", "minibatch")},
            "start_ns": time_ns(row["start_time"]),
            "end_ns": time_ns(row["end_time"]),
        }
        spans.append(_known(span))
    return spans


def rollouts(table: Table) -> Rows:
    """Spans of generations, rewards, environment responses and weight updates.

    Each begins in one row and ends in another. What a server does runs with the weights that it
    loaded last.
    """
    begun: dict[Any, tuple[float, int | None]] = {}
    loaded: dict[Any, int] = {}  # server -> version of its weights
    spans: Rows = []
    for row in sorted([*table("events_rollout"), *table("events_infra")], key=lambda r: r["timestamp"]):
        key, server = tuple(row.get(name) for name in PHASE), row.get("server_id")
        brings = row.get("step") if "weight" in row["event_type"] else None
        if row.get("phase") == "start":
            begun[key] = row["timestamp"], loaded.get(server) if brings is None else brings
        elif row.get("phase") == "end" and key in begun:
            spans.append({"id": len(spans) + 1, **_rollout_span(row, *begun.pop(key))})
            if brings is not None:
                loaded[server] = brings
    return spans


def _rollout_span(row: dict[str, Any], start: float, version: int | None) -> dict[str, Any]:
    server, lane = (row.get(name) if row.get(name) not in (None, -1) else 0 for name in ("server_id", "server_lane"))
    span = {
        "name": row["event_type"],
        "lane": f"inference/{server}/{lane}",
        "kind": "work",
        "step": row.get("step"),
        "sample": row.get("sample_id"),
        "group": row.get("group_id"),
        "version": version,
        "start_ns": time_ns(start),
        "end_ns": time_ns(row["timestamp"]),
    }
    span = _known(span)
    return span | {name: str(span[name]) for name in ("sample", "group") if name in span}


def _known(span: dict[str, Any]) -> dict[str, Any]:
    """The columns that have a value; Telescope writes -1 for none."""
    return {name: value for name, value in span.items() if value is not None and value != -1}


def host(table: Table) -> Rows:
    """Metrics of GPUs, CPUs and inference engines."""
    rows = []
    for name, device in HOST.items():
        for row in table(name):
            index = row.get("gpu_index", row.get("server"))
            rows.append(
                {
                    "time_ns": time_ns(row["timestamp"]),
                    "host": str(row.get("node_id", "")),
                    "device": f"{device}{'' if index is None else index}",
                    "name": row["metric_name"],
                    "value": row["value"],
                }
            )
    return rows


def logs(table: Table) -> Rows:
    """Log lines, as notes."""
    return [
        {
            "time_ns": time_ns(row["timestamp"]),
            "text": str(row["message"]),
            "kind": "output",
            "data": {"level": row.get("level"), "component": row.get("component")},
        }
        for row in table("logs")
    ]
