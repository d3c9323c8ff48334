"""The turns of a rollout, from the mask that tells what the policy wrote from what it was told.

An agent loop of veRL appends the answers of tools to the response, in the words of the chat
template: the turns are the stretches of the mask. Calls are read in the format that veRL calls
hermes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .batch import Array

OPENS = "<tool_call>"
CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
ANSWER = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
HEAD = re.compile(r"\s*(?:(user|tool|ipython|observation|environment)\s*\n)?")  # what a template writes around
NEXT = re.compile(r"\n(?:user|tool|ipython|observation|environment)\n")
FAILED = ("Error when executing tool", "Unknown function", "Invalid JSON in arguments")  # how veRL begins
TAIL = "\nassistant"  # with which the next turn of the policy begins
Decode = Callable[[list[list[int]]], list[str]]


def turns(ids: list[int], mask: Array, decode: Decode) -> list[dict[str, Any]] | None:
    """The turns of a response; None if the policy wrote all of it in one."""
    edges = ((mask[1:] != mask[:-1]).nonzero()[0] + 1).tolist()
    if not edges:
        return None
    stretches = [ids[start:end] for start, end in zip([0, *edges], [*edges, len(ids)], strict=True)]
    found: list[dict[str, Any]] = []
    calls: list[tuple[str, str]] = []
    wrote = bool(mask[0])
    for text, stretch in zip(decode(stretches), stretches, strict=True):
        if wrote:
            calls = list(_calls(text)) if OPENS in text else []
            found.append({"role": "assistant", "content": text, "tokens": len(stretch)})
            found[-1]["stop_reason"] = "tool" if calls else None
        else:
            found += _told(text, len(stretch), calls)
            calls = []
        wrote = not wrote
    return found


def _calls(text: str) -> Iterator[tuple[str, str]]:
    """(name, arguments) of the calls in what the policy wrote."""
    for words in CALL.findall(text):
        try:
            call = json.loads(words)
            yield str(call["name"]), json.dumps(call.get("arguments"), ensure_ascii=False)
        except (ValueError, KeyError, TypeError, AttributeError):
            yield "unreadable call", words.strip()


def _told(text: str, tokens: int, calls: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """What the policy was told: the answers to its calls, else the words of the environment."""
    head = HEAD.match(text)
    who = head[1] if head else None
    words = text[head.end() if head else 0 :].rstrip().removesuffix(TAIL).rstrip()
    marked = [answer.strip() for answer in ANSWER.findall(words)] if "<tool_response>" in words else []
    if calls:
        results = _results(marked, words, len(calls))
        rows = [_answered(*call, result) for call, result in zip(calls, results, strict=True)]
        return [{**row, "tokens": tokens} for row in rows] if len(rows) == 1 else rows
    role = "tool" if marked or who in ("tool", "ipython", "observation") else "environment"
    return [{"role": role, "content": "\n".join(marked) or words, "tokens": tokens}]


def _results(marked: list[str], words: str, calls: int) -> list[str | None]:
    """The answer to each call; veRL may make fewer calls than the policy asked for."""
    found = marked or (NEXT.split(words) if calls > 1 else [words])
    answers: list[str | None] = [*found] if len(found) <= calls else [words]
    return [*answers, *[None] * (calls - len(answers))]


def _answered(name: str, arguments: str, result: str | None) -> dict[str, Any]:
    failed = result is not None and result.startswith(FAILED)
    ok = None if result is None else not failed
    return {"role": "tool", "tool": name, "arguments": arguments, "result": result, "ok": ok}
