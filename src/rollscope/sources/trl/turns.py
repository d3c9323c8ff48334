"""The turns of a completion in messages, as TRL's loop of tools leaves it.

Its calls have no ids: the answers follow the message that asked, with the name of the tool, those
of asynchronous tools last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollscope.sources.dumps.chat import content

FAILED = "{'error': "  # how TRL writes the result of a tool that raised, or that it does not know
Message = Mapping[str, Any]


def turns(completion: Sequence[Message]) -> list[dict[str, Any]] | None:
    """The turns of a completion; None if the policy wrote all of it in one."""
    return list(_turns(completion)) if len(completion) > 1 else None


def _turns(completion: Sequence[Message]) -> Iterator[dict[str, Any]]:
    waiting: list[Message] = []  # calls without an answer
    for message in completion:
        if message.get("role") == "tool":
            yield _answered(message, waiting)
            continue
        yield from (_called(call) for call in waiting)
        waiting = _calls(message)
        turn = {"role": str(message.get("role") or "user"), "content": content(message)}
        yield {**turn, "stop_reason": "tool"} if waiting else turn
    yield from (_called(call) for call in waiting)


def _answered(message: Message, waiting: list[Message]) -> dict[str, Any]:
    """An answer with the first call of its tool, which waits no more."""
    name, said = message.get("name"), content(message)
    at = next((i for i, call in enumerate(waiting) if call.get("name") == name), None)
    call = waiting.pop(at) if at is not None else {"name": name}
    return {**_called(call), "result": said, "ok": not said.startswith(FAILED)}


def _called(call: Message) -> dict[str, Any]:
    given = call.get("arguments")
    arguments = given if given is None or isinstance(given, str) else json.dumps(given, default=str, ensure_ascii=False)
    return {"role": "tool", "tool": str(call.get("name") or ""), "arguments": arguments}


def _calls(message: Message) -> list[Message]:
    calls = message.get("tool_calls")
    found = (
        [call.get("function", call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    )
    return [call for call in found if isinstance(call, Mapping)]
