"""Calls of tools in messages: ms-swift's engines leave them in the words of an answer.

They are read in the format called hermes, `<tool_call>{"name": ..., "arguments": ...}</tool_call>`.
The messages with the results follow in the order of the calls, and name no tool.
"""

from __future__ import annotations

from typing import Any

from rollscope.sources.verl.turns import OPENS, calls_in

Message = dict[str, Any]


def with_calls(messages: list[Message]) -> list[Message]:
    """The messages, with calls where an answer has some, and their names in the results."""
    waiting: list[str] = []
    for message in messages:
        content = message.get("content")
        if message.get("role") == "assistant":
            if not message.get("tool_calls") and isinstance(content, str) and OPENS in content:
                message["tool_calls"] = [{"name": name, "arguments": given} for name, given in calls_in(content)]
            waiting = [str(call.get("name")) for call in message.get("tool_calls") or [] if isinstance(call, dict)]
        elif message.get("role") == "tool" and waiting:
            message.setdefault("name", waiting.pop(0))
    return messages
