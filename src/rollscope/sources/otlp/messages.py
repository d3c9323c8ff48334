"""The messages of a call of a model, in the shapes that instrumentations write them.

`gen_ai.input.messages` and `gen_ai.output.messages` are OpenTelemetry's; `gen_ai.prompt.0.content`
and its kin are OpenLLMetry's, which AgentOps and Agent-Lightning use too. Calls of tools are parts
of a message, or stand beside its content as OpenAI has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .attributes import parsed

INDEXED = re.compile(r"(gen_ai\.prompt|gen_ai\.completion)\.(\d{1,6})\.(role|content|finish_reason|tool_call_id)")
CALLED = re.compile(r"(gen_ai\.prompt|gen_ai\.completion)\.(\d{1,6})\.tool_calls\.(\d{1,6})\.(id|name|arguments)")
INPUT = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.prompt", "llm.hosted_vllm.messages")
OUTPUT = ("gen_ai.output.messages", "gen_ai.completion")
CALLS = ("tool_call", "function_call", "tool_use")  # kinds of parts
ANSWERS = ("tool_call_response", "tool_result")
WORDS = ("content", "text", "result", "response")  # where a part has its text


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool in a message."""

    id: str
    tool: str
    arguments: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """Who says what; `of_call` is the id of the call that a tool answers."""

    role: str
    content: str
    calls: list[Call] = field(default_factory=list)
    finish_reason: str | None = None
    of_call: str | None = None

    def columns(self) -> dict[str, Any]:
        """The columns of its turn. A message that only calls tools has no words."""
        called = "\n".join(f"{call.tool}({call.arguments or ''})" for call in self.calls)
        return {"role": self.role, "content": self.content or None, "arguments": called or None}


def messages(found: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """What went in and what came out; both are empty if the attributes hold no messages."""
    asked = [one for name in INPUT for one in _listed(found.get(name), "system" if "system" in name else "user")]
    answered = [one for name in OUTPUT for one in _listed(found.get(name), "assistant")]
    asked += _indexed(found, "gen_ai.prompt", "user")
    return asked, answered + _indexed(found, "gen_ai.completion", "assistant")


def said(one: Any, role: str) -> dict[str, Any]:
    """The columns of one message."""
    return _messages(one, role)[0].columns()


def _listed(value: Any, role: str) -> list[Message]:
    """The messages of an attribute; a text that is nested too deeply for them stays a text."""
    held = parsed(value)
    if held is None:
        return []
    try:
        return [message for one in (held if isinstance(held, list) else [held]) for message in _messages(one, role)]
    except RecursionError:
        if not isinstance(value, str):
            raise
        return [Message(role, value)]


def _messages(one: Any, role: str) -> list[Message]:
    """A message; answers of several tools in it are messages of their own."""
    if not isinstance(one, Mapping):
        return [Message(role, _text(one))]
    content = one.get("parts") if one.get("content") is None else one.get("content")
    found, calls, words = _sorted(content if isinstance(content, list) else [content])
    if found and not words and not calls:
        return found
    beside = parsed(one.get("tool_calls"))
    calls += [_call(call) for call in beside if isinstance(call, Mapping)] if isinstance(beside, list) else []
    reason, of_call = (None if one.get(name) is None else str(one[name]) for name in ("finish_reason", "tool_call_id"))
    return [*found, Message(str(one.get("role") or role), _text(words), calls, reason, of_call)]


def _sorted(parts: list[Any]) -> tuple[list[Message], list[Call], list[Any]]:
    """The parts of a message: answers of tools, calls of tools, and everything else."""
    answers, calls, words = list[Message](), list[Call](), []
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ANSWERS and _id(part):
            answers.append(Message("tool", _text(_inside(part)), of_call=_id(part)))
        elif kind in CALLS:
            calls.append(_call(part))
        else:
            words.append(part)
    return answers, calls, words


def _id(part: Mapping[str, Any]) -> str:
    return str(next((part[name] for name in ("id", "call_id", "tool_use_id") if part.get(name)), ""))


def _call(part: Mapping[str, Any]) -> Call:
    function = part.get("function")
    about = function if isinstance(function, Mapping) else part
    given = about.get("arguments", about.get("input"))
    arguments = given if given is None or isinstance(given, str) else _json(given)
    return Call(_id(part), str(about.get("name") or ""), arguments)


def _inside(part: Mapping[str, Any]) -> Any:
    return next((part[name] for name in WORDS if name in part), None)


def _text(content: Any) -> str:
    """The text of a message: a text, or parts that hold one each."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        inside = _inside(content)
        return inside if isinstance(inside, str) else _json(content)
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    return "" if content is None else str(content)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _indexed(found: dict[str, Any], kind: str, role: str) -> list[Message]:
    """The messages whose parts are attributes of their own, with numbers in their names."""
    by_number: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[int, dict[str, Any]]] = {}
    for name, value in found.items():
        if (match := INDEXED.fullmatch(name)) and match[1] == kind:
            by_number.setdefault(int(match[2]), {})[match[3]] = _text(value)
        elif (match := CALLED.fullmatch(name)) and match[1] == kind:
            by_number.setdefault(int(match[2]), {})
            calls.setdefault(int(match[2]), {}).setdefault(int(match[3]), {})[match[4]] = _text(value)
    for number, listed in calls.items():
        by_number[number]["tool_calls"] = [listed[i] for i in sorted(listed)]
    return [message for i in sorted(by_number) for message in _messages(by_number[i], role)]
