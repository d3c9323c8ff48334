"""Telescope's samples and turns, of training and of evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.gather import number

from .spans import Rows, Table, time_ns

STOP_REASONS = {"max_tokens": "length", "eos": "stop", "tool_call": "tool"}  # Telescope's words -> ours
FATES = {  # suffix of the tables -> discard reason if no row gives one; None: the samples were trained on
    "": None,
    "_kept": None,
    "_discarded": "discarded",
    "_cancelled": "cancelled",
}
EVAL_KEY = ("eval_name", "step", "sample_idx", "completion_idx")


def samples(table: Table, suffix: str, reason: str | None) -> tuple[Rows, Rows]:
    """Samples of one fate, and their turns."""
    prompts = {row["group_id"]: row for row in table(f"prompts{suffix}")}
    names = ("generations", "env_responses", "tool_calls", "rollouts_metrics", "golden_answers", "sample_tags")
    generations, responses, calls, metrics, answers, tags = (_by_sample(table(f"{name}{suffix}")) for name in names)
    rows: Rows = []
    turns: Rows = []
    for row in table(f"samples_data{suffix}"):
        id = row["sample_id"]
        own = _in_order(generations[id])
        step = row.get("step") if row.get("step") is not None else row.get("trainer_step")
        sample = {
            **_sample(row, str(id), step, prompts.get(row["group_id"], {}), own, calls[id]),
            "sample_metrics": _metrics(metrics[id]),
            "answer": next((str(a["value"]) for a in answers[id]), None),
            "tags": [f"{t['tag_name']}={t['tag_value']}" for t in tags[id]] or None,
            "trained": not reason,
            "discard_reason": (row.get("discard_reason") or reason) if reason else None,
        }
        rows.append(_known(sample))
        turns += _turns(str(id), step, own, responses[id], calls[id])
    return rows, turns


def _sample(
    row: Mapping[str, Any], id: str, step: Any, prompt: Mapping[str, Any], own: Rows, calls: Rows
) -> dict[str, Any]:
    return {
        "id": id,
        "step": step,
        "time_ns": time_ns(row.get("timestamp")),
        "group": str(row["group_id"]),
        "env": prompt.get("env"),
        "prompt": prompt.get("prompt"),
        "prompt_tokens": prompt.get("tokens_prompt"),
        "completion": _completion(own) if own else _text(row.get("raw_string")),
        "completion_tokens": _tokens(own) if own else None,
        "reward": number(row.get("reward")),
        "advantage": number(row.get("advantage")),
        "turns": row.get("num_generations"),
        "tool_calls": len(calls) or None,
        "tool_failures": sum(c.get("success") is False for c in calls) if calls else None,
        "reward_seconds": number(row.get("compute_reward_time")),
        "stop_reason": _stop_reason(row, own),
        "off_policy_steps": row.get("off_policy_steps"),
    }


def _stop_reason(row: Mapping[str, Any], own: Rows) -> Any:
    """`length` if any generation hit its limit, else the sample's reason, else the last one's."""
    reasons = [STOP_REASONS.get(g.get("stop_reason") or "", g.get("stop_reason")) for g in own]
    if "length" in reasons:
        return "length"
    return row.get("stop_reason") or next((reason for reason in reversed(reasons) if reason), None)


def _turns(sample: str, step: Any, own: Rows, responses: Rows, calls: Rows) -> Rows:
    """Generations, tool calls and environment responses, in the order in which they happened."""
    ordered = sorted(
        [
            *(((g.get("generation_idx") or 0, 0), _generation(g)) for g in own),
            *(((c.get("generation_idx") or 0, 1), _call(c)) for c in calls),
            *(((r.get("generation_idx") or 0, 2), _response(r)) for r in responses),
        ],
        key=lambda pair: pair[0],
    )
    return [{"sample": sample, "turn": i, "step": step, **_known(turn)} for i, (_, turn) in enumerate(ordered)]


def _generation(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": _text(row.get("content")),
        "tokens": row.get("tokens"),
        "stop_reason": row.get("stop_reason"),
        "seconds": number(row.get("e2e_latency")),
    }


def _call(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool": row.get("tool_name"),
        "arguments": row.get("arguments"),
        "result": _text(row.get("result")),
        "ok": row.get("success"),
        "tokens": row.get("result_tokens"),
    }


def _response(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "environment",
        "content": _text(row.get("content")),
        "tokens": row.get("tokens"),
        "seconds": number(row.get("response_time")),
    }


def evaluated(table: Table) -> Rows:
    """Samples of evaluations. A sample is one try at one task of an evaluation set."""
    generations, metrics = (_by_key(table(name)) for name in ("generations_eval", "rollouts_metrics_eval"))
    prompts = {tuple(row.get(name) for name in EVAL_KEY[:3]): row for row in table("prompts_eval")}
    rows = []
    for row in table("samples_data_eval"):
        key = tuple(row.get(name) for name in EVAL_KEY)
        prompt, own = prompts.get(key[:3], {}), _in_order(generations[key])
        sample = {
            "id": "eval/" + "/".join(map(str, key)),
            "step": row.get("step"),
            "split": "eval",
            "env": row.get("eval_name"),
            "task": str(key[2]),
            "repeat": row.get("completion_idx"),
            "prompt": prompt.get("prompt"),
            "prompt_tokens": prompt.get("tokens_prompt"),
            "completion": _completion(own),
            "completion_tokens": _tokens(own),
            "sample_metrics": _metrics(metrics[key]),
            "turns": row.get("num_generations"),
        }
        rows.append(_known(sample))
    return rows


def _by_sample(rows: Rows) -> defaultdict[Any, Rows]:
    grouped: defaultdict[Any, Rows] = defaultdict(list)
    for row in rows:
        grouped[row.get("sample_id")].append(row)
    return grouped


def _by_key(rows: Rows) -> defaultdict[Any, Rows]:
    grouped: defaultdict[Any, Rows] = defaultdict(list)
    for row in rows:
        grouped[tuple(row.get(name) for name in EVAL_KEY)].append(row)
    return grouped


def _in_order(generations: Rows) -> Rows:
    return sorted(generations, key=lambda g: g.get("generation_idx") or 0)


def _completion(generations: Rows) -> str:
    return "\n".join(_text(g.get("content")) for g in generations)


def _tokens(generations: Rows) -> int:
    return sum(int(g.get("tokens") or 0) for g in generations)


def _metrics(rows: Rows) -> dict[str, Any] | None:
    return {row["metric_name"]: row["value"] for row in rows} or None


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _text(value: Any) -> str:
    """The text of a value; Telescope compresses long texts."""
    if value is None or isinstance(value, str):
        return value or ""
    import pyarrow as pa

    try:
        stream = pa.CompressedInputStream(pa.BufferReader(bytes(value)), "zstd")
        return stream.read().decode("utf-8", "replace")  # type: ignore[no-any-return]
    except (OSError, pa.ArrowException):
        return bytes(value).decode("utf-8", "replace")
