"""The conversation of a rollout: what was asked, what the policy said, and turns with tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chat:
    """The prompt is everything before the first answer, the completion is what the policy said."""

    messages: Sequence[Message]
    first: int  # number of the first message that the policy wrote

    @property
    def prompt(self) -> str | None:
        return "\n".join(content(one) for one in self.messages[: self.first]) or None

    @property
    def completion(self) -> str | None:
        said = [content(one) for one in self.messages[self.first :] if one.get("role") == "assistant"]
        return "\n".join(said) if said else None

    def columns(self) -> dict[str, Any]:
        """The columns of the sample."""
        answers = [one for one in self.messages[self.first :] if one.get("role") == "assistant"]
        calls = sum(len(_calls(one)) for one in answers)
        texts = {"prompt": self.prompt, "completion": self.completion, "messages": list(self.messages)}
        return {**texts, "turns": len(answers), "tool_calls": calls or None}

    def turns(self, sample: str, step: int) -> list[dict[str, Any]]:
        """The rows of the table `turns`. A call of a tool and its result are one turn."""
        results = _results(self.messages)
        rows: list[dict[str, Any]] = []
        for one in self.messages:
            if one.get("role") == "tool" and results.get(str(one.get("tool_call_id"))) is one:
                continue
            rows.append({"role": _role(one), "content": content(one), **_measured(one)})
            rows += [_called(call, results) for call in _calls(one)]
        return [{"sample": sample, "turn": i, "step": step, **row} for i, row in enumerate(rows)]


def chat(messages: Any) -> Chat | None:
    """The conversation in a list of messages, or in its JSON; None if it is not one."""
    if isinstance(messages, str) and messages[:1] == "[":
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError):
            return None
    if not isinstance(messages, list) or not messages or not all(isinstance(one, Mapping) for one in messages):
        return None
    if not any("role" in one for one in messages):
        return None
    first = next((i for i, one in enumerate(messages) if one.get("role") == "assistant"), len(messages))
    return Chat(messages, first)


def content(message: Message) -> str:
    """The text of a message; of one in parts, its texts."""
    value = message.get("content")
    if isinstance(value, list):
        return "\n".join(str(part.get("text") or "") for part in value if isinstance(part, Mapping)).strip("\n")
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)


def _role(message: Message) -> str:
    role = str(message.get("role") or "user")
    return "system" if role == "developer" else role


def _measured(message: Message) -> dict[str, Any]:
    """What a dump knows of a turn beside its text."""
    kept = {name: message[name] for name in ("tokens", "seconds", "stop_reason") if message.get(name) is not None}
    return {**kept, **({"tool": message["name"]} if message.get("role") == "tool" and message.get("name") else {})}


def _calls(message: Message) -> list[Message]:
    calls = message.get("tool_calls")
    if isinstance(calls, str):
        try:
            calls = json.loads(calls)
        except (ValueError, RecursionError):
            return []
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _results(messages: Sequence[Message]) -> dict[str, Message]:
    """The message with the result of each call, by the call's id."""
    asked = {str(call.get("id")) for one in messages for call in _calls(one) if call.get("id") is not None}
    said = {str(one.get("tool_call_id")): one for one in messages if one.get("role") == "tool"}
    return {id: one for id, one in said.items() if id in asked}


def _called(call: Message, results: Mapping[str, Message]) -> dict[str, Any]:
    function = call.get("function")
    about: Message = function if isinstance(function, Mapping) else call
    arguments, result = about.get("arguments"), results.get(str(call.get("id")))
    return {
        "role": "tool",
        "tool": str(about.get("name") or ""),
        "arguments": arguments if isinstance(arguments, str) or arguments is None else json.dumps(arguments),
        "result": None if result is None else content(result),
        "content": None if result is None else content(result),
    }
