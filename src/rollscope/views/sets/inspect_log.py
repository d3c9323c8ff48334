"""A set as an evaluation log of Inspect (its JSON form, version 2): `inspect view` opens it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rollscope.strict_json import plain

from .collected import Collected, said

ROLES = ("system", "user", "assistant", "tool")
STOPS = {"stop": "stop", "length": "max_tokens"}  # ours -> Inspect's
FACTS = ("run", "step", "group", "task", "env", "advantage", "trained", "discard_reason", "tags", "stop_reason")


def inspect_log(found: Collected) -> dict[str, Any]:
    """The log. Each sample is one of its own, whose id names run and sample."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    rows = zip(found.rows, found.turns, found.marks, strict=True)
    samples = [_sample(row, turns, said(marks)) for row, turns, marks in rows]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": created,
            "task": found.name,
            "task_id": found.name,
            "run_id": found.name,
            "dataset": {"name": found.name, "samples": len(samples), "sample_ids": [one["id"] for one in samples]},
            "model": "rollscope/recorded",
            "config": {"epochs": 1},
        },
        "plan": {"name": "recorded", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": []},
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
        "samples": samples,
    }


def _sample(row: Mapping[str, Any], turns: list[dict[str, Any]], marks: dict[str, Any]) -> dict[str, Any]:
    answer = str(row["completion"] or "")
    messages = _messages(row, turns, answer)
    facts = {name: plain(row[name]) for name in FACTS if row.get(name) is not None}
    last = next((one["content"] for one in reversed(messages) if one["role"] == "assistant"), answer)
    choice = {
        "message": {"role": "assistant", "content": answer or last},
        "stop_reason": STOPS.get(row["stop_reason"] or "", "unknown"),
    }
    return {
        "id": f"{row['run']}/{row['id']}",
        "epoch": 1,
        "input": str(row["prompt"] or next((one["content"] for one in messages if one["role"] == "user"), "")),
        "target": "" if row["answer"] is None else str(row["answer"]),
        "messages": messages,
        "output": {"model": "rollscope/recorded", "choices": [choice]},
        "scores": _scores(row),
        "metadata": {**facts, **marks},
    }


def _messages(row: Mapping[str, Any], turns: list[dict[str, Any]], answer: str) -> list[dict[str, Any]]:
    """The conversation: the prompt, then the turns, else the answer."""
    told = [_message(turn) for turn in turns]
    if not any(one["role"] in ("user", "system") for one in told) and row["prompt"]:
        told.insert(0, {"role": "user", "content": str(row["prompt"])})
    return told if turns or not answer else [*told, {"role": "assistant", "content": answer}]


def _message(turn: Mapping[str, Any]) -> dict[str, Any]:
    if turn["tool"]:
        return {"role": "tool", "content": str(turn["result"] or turn["content"] or ""), "function": str(turn["tool"])}
    role = turn["role"] if turn["role"] in ROLES else "assistant"
    return {"role": role, "content": str(turn["content"] or turn["arguments"] or "")}


def _scores(row: Mapping[str, Any]) -> dict[str, Any]:
    """The reward, its components and the score, as far as they are numbers."""
    parts = row["rewards"] if isinstance(row["rewards"], Mapping) else {}
    values = {**parts, "reward": row["reward"], "score": row["score"]}
    return {str(name): {"value": float(value)} for name, value in values.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
