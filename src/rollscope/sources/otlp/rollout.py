"""Samples and turns of spans: who generated what, for which task, with which reward."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rollscope.sources.intake.gather import number

from .attributes import GROUP, SAMPLE, TASK, VERSION, count, parsed, word
from .messages import Call, Message, messages
from .resource import environment_of

REWARD = re.compile(r"agentlightning\.reward\.(\d{1,4})\.(name|value)")
REWARDS = ("agentlightning.reward", "agentlightning.annotation")  # `reward` is on them before 0.3
SCORE = ("rl.reward.score", "rl.reward", "rl.reward.value", "agentlightning.reward.primary")
PART = "rl.reward.component."  # and the name of the component
STOP = {"max_tokens": "length", "end_turn": "stop", "tool_calls": "tool", "tool_call": "tool", "tool_use": "tool"}
CALLS = ("chat", "text_completion", "generate_content", "completion")


@dataclass(slots=True)
class Turns:
    """The next turn of each sample, and the samples whose tools have spans of their own."""

    next: dict[str, int] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)

    def number(self, sample: str) -> int:
        self.next[sample] = self.next.get(sample, -1) + 1
        return self.next[sample]


def sample_of(span: dict[str, Any], found: dict[str, Any], resource: dict[str, Any]) -> str | None:
    """The sample that a span belongs to; None if it belongs to none.

    It is the one that the span or its resource names. A span `rl.sample` without a name is one
    itself, and the calls of models and tools and the rewards right below a span are of that span.
    """
    named = word(found, SAMPLE) or word(resource, SAMPLE)
    if named is not None:
        return named
    name = str(span.get("name"))
    if name == "rl.sample":
        return str(span.get("spanId"))
    if name.startswith(("rl.reward", "agentlightning.reward")) or _rewards(found) or is_call(found) or is_tool(found):
        return str(span.get("parentSpanId") or span.get("traceId"))
    return None


def is_call(found: dict[str, Any]) -> bool:
    if found.get("gen_ai.operation.name") in CALLS:
        return True
    return any(
        name.startswith(("gen_ai.input", "gen_ai.output", "gen_ai.prompt", "gen_ai.completion")) for name in found
    )


def is_tool(found: dict[str, Any]) -> bool:
    return found.get("gen_ai.operation.name") == "execute_tool" or "gen_ai.tool.call.id" in found


def sample_row(
    id: str, row: dict[str, Any], span: dict[str, Any], found: dict[str, Any], resource: dict[str, Any]
) -> dict[str, Any]:
    """What one span says about its sample; the rows of all its spans make the sample."""
    rewards = _rewards(found)
    reward = next((value for name in SCORE if (value := number(found.get(name))) is not None), None)
    if reward is None and str(span.get("name")) in REWARDS:
        reward = number(found.get("reward"))
    if reward is None and rewards:
        reward = next(iter(rewards.values()))
    version = count(found, VERSION)
    is_sample = str(span.get("name")) == "rl.sample"
    known = {
        "id": id,
        "step": row.get("step"),
        "time_ns": row["start_ns"],
        "group": word(found, GROUP),
        "task": word(found, TASK),
        "env": environment_of(found, resource),
        "reward": reward,
        "score": reward,
        "rewards": rewards or None,
        "turns": count(found, ("rl.sample.turns",)),
        "prompt_tokens": count(found, ("rl.sample.input_tokens",)),
        "completion_tokens": count(found, ("rl.sample.output_tokens",)),
        "generate_seconds": (row["end_ns"] - row["start_ns"]) / 1e9 if is_sample else None,
        "stop_reason": word(found, ("rl.reward.run.code", "rl.sample.stop_reason")),
        "policy_version_min": version,
        "policy_version_max": version,
        "error": row["data"].get("error") if is_sample else None,
    }
    return {key: value for key, value in known.items() if value is not None}


def _rewards(found: dict[str, Any]) -> dict[str, float]:
    """The rewards by part, in their order."""
    listed: dict[int, dict[str, Any]] = {}
    for name, value in found.items():
        if match := REWARD.fullmatch(name):
            listed.setdefault(int(match[1]), {})[match[2]] = value
    parts = [(str(listed[i].get("name") or f"reward {i}"), number(listed[i].get("value"))) for i in sorted(listed)]
    parts += [(name.removeprefix(PART), number(value)) for name, value in found.items() if name.startswith(PART)]
    return {name: value for name, value in parts if value is not None}


def call_rows(
    id: str, row: dict[str, Any], found: dict[str, Any], turns: Turns
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a call of a model adds: text and tokens of the sample, and its new turns.

    A call repeats the conversation so far. What follows the last answer in it is new.
    """
    asked, answered = messages(found)
    last = max((i for i, one in enumerate(asked) if one.role == "assistant"), default=-1)
    new = [one for one in asked[last + 1 :] if one.role != "tool" or id not in turns.tools]
    same, calls = {"sample": id, "step": row.get("step")}, {call.id: call for one in asked for call in one.calls}
    rows = [{**same, "turn": turns.number(id), "time_ns": row["start_ns"], **_read(one, calls)} for one in new]
    rows += [{**same, "turn": turns.number(id), **_said(one, row, found)} for one in answered]
    text: dict[str, Any] = {"id": id, "step": row.get("step"), "time_ns": row["start_ns"]}
    if asked:
        text["prompt"] = "\n".join(one.content for one in asked if one.role in ("system", "user"))
    if answered:
        text["completion"] = "\n".join(one.content for one in answered if one.content) or None
        text["stop_reason"] = rows[-1]["stop_reason"]
    return {key: value for key, value in text.items() if value is not None}, rows


def _said(one: Message, row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What a model answered."""
    reasons = parsed(found.get("gen_ai.response.finish_reasons"))
    why = one.finish_reason or (str(reasons[0]) if isinstance(reasons, list) and reasons else None)
    return {
        **one.columns(),
        "role": "assistant",
        "stop_reason": STOP.get(why or "", why),
        "time_ns": row["end_ns"],
        "tokens": count(found, ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")),
        "seconds": (row["end_ns"] - row["start_ns"]) / 1e9 if row["end_ns"] != row["start_ns"] else None,
    }


def _read(one: Message, calls: dict[str, Call]) -> dict[str, Any]:
    """What a model read: who says what; of a tool's answer also the call."""
    call = calls.get(one.of_call) if one.of_call else None
    if call is None:
        return one.columns()
    return {**one.columns(), "tool": call.tool, "arguments": call.arguments, "result": one.content}


def tool_row(id: str, row: dict[str, Any], found: dict[str, Any], turns: Turns) -> dict[str, Any]:
    """The turn of a tool's call."""
    turns.tools.add(id)
    return {
        "sample": id,
        "step": row.get("step"),
        "turn": turns.number(id),
        "time_ns": row["start_ns"],
        "role": "tool",
        "tool": str(found.get("gen_ai.tool.name") or row["name"]),
        "ok": "error" not in row["data"],
        "seconds": (row["end_ns"] - row["start_ns"]) / 1e9,
        "arguments": _text(found.get("gen_ai.tool.call.arguments")),
        "result": _text(found.get("gen_ai.tool.call.result")),
        "content": _text(found.get("gen_ai.tool.call.result")),
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else str(value)
