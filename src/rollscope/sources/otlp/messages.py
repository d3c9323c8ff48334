"""The messages of a call of a model, in the shapes that instrumentations write them.

`gen_ai.input.messages` and `gen_ai.output.messages` are OpenTelemetry's; `gen_ai.prompt.0.content`
and its kin are OpenLLMetry's, which AgentOps and Agent-Lightning use too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .attributes import parsed

INDEXED = re.compile(r"(gen_ai\.prompt|gen_ai\.completion)\.(\d{1,6})\.(role|content|finish_reason|tool_call_id)")
CALLED = re.compile(r"gen_ai\.prompt\.(\d{1,6}\.tool_calls\.\d{1,6})\.(id|name|arguments)")
INPUT = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.prompt", "llm.hosted_vllm.messages")
OUTPUT = ("gen_ai.output.messages", "gen_ai.completion")
Message = dict[str, Any]  # role, content, perhaps finish_reason and tool_call_id


def messages(found: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """What went in and what came out; both are empty if the attributes hold no messages."""
    asked = [one for name in INPUT for one in _listed(found.get(name), "system" if "system" in name else "user")]
    answered = [one for name in OUTPUT for one in _listed(found.get(name), "assistant")]
    indexed = _indexed(found)
    return asked + indexed["gen_ai.prompt"], answered + indexed["gen_ai.completion"]


def tools(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The calls of tools in what went in, by their ids."""
    by_place: dict[str, dict[str, str]] = {}
    for name, value in found.items():
        if match := CALLED.fullmatch(name):
            by_place.setdefault(match[1], {})[match[2]] = _text(value)
    calls = [one for one in by_place.values() if one.get("id")]
    return {one["id"]: {"tool": one.get("name"), "arguments": one.get("arguments")} for one in calls}


def _listed(value: Any, role: str) -> list[Message]:
    value = parsed(value)
    if value is None:
        return []
    listed = value if isinstance(value, list) else [value]
    return [_message(one, role) for one in listed]


def said(one: Any, role: str) -> Message:
    """Who says what in one message."""
    message = _message(one, role)
    return {"role": message["role"], "content": message["content"]}


def _message(one: Any, role: str) -> Message:
    if not isinstance(one, dict):
        return {"role": role, "content": _text(one)}
    content = one.get("parts") if one.get("content") is None else one.get("content")
    said = {"role": str(one.get("role") or role), "content": _text(content)}
    reason = one.get("finish_reason")
    return said if reason is None else {**said, "finish_reason": str(reason)}


def _text(content: Any) -> str:
    """The text of a message: a text, or parts that hold one each."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        inside = next((content[key] for key in ("content", "text", "result", "response") if key in content), None)
        return _text(inside) if isinstance(inside, str) else json.dumps(content, ensure_ascii=False, default=str)
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    return "" if content is None else str(content)


def _indexed(found: dict[str, Any]) -> dict[str, list[Message]]:
    by_number: dict[str, dict[int, Message]] = {"gen_ai.prompt": {}, "gen_ai.completion": {}}
    for name, value in found.items():
        if match := INDEXED.fullmatch(name):
            role = "user" if match[1] == "gen_ai.prompt" else "assistant"
            one = by_number[match[1]].setdefault(int(match[2]), {"role": role, "content": ""})
            one[match[3]] = _text(value)
    return {name: [rows[i] for i in sorted(rows)] for name, rows in by_number.items()}
