"""The turns of a rollout, from the mask that tells what the policy wrote from what it was told.

An agent loop of veRL appends the answers of tools to the response, in the words of the chat
template: the turns are the stretches of the mask. Calls are read in the format that veRL calls
hermes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rollscope.record.caller.sample import Turns
from rollscope.sources.live.text import Spelled
from rollscope.store.log.lists import Lists

from .batch import Array

OPENS = "<tool_call>"
CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
ANSWER = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
HEAD = re.compile(r"\s*(?:(user|tool|ipython|observation|environment)\s*\n)?")  # what a template writes around
NEXT = re.compile(r"\n(?:user|tool|ipython|observation|environment)\n")
FAILED = ("Error when executing tool", "Unknown function", "Invalid JSON in arguments")  # how veRL begins
TAIL = "\nassistant"  # with which the next turn of the policy begins
Calls = list[tuple[str, str]]  # name, arguments
_NO_CALLS: Calls = []


class Turn(NamedTuple):
    """One row, with the names of our columns."""

    role: str
    content: str | None = None
    tokens: int | None = None
    stop_reason: str | None = None
    tool: str | None = None
    arguments: str | None = None
    result: str | None = None
    ok: bool | None = None


def turns(mask: Lists, spelled: Spelled, counts: list[int | None]) -> Turns:
    """The turns of each response; of one that the policy wrote in one, only how many there were."""
    starts = _starts(mask)
    of = np.searchsorted(mask.ends, starts, "right")  # the response of each stretch
    several = np.bincount(of, minlength=len(mask)) > 1
    found: list[Turn] = []
    owners: list[int] = []
    if several.any():
        edges = [*starts.tolist(), len(mask.values)]
        texts, wrote = spelled.texts(edges), mask.values[starts].astype(bool).tolist()
        before, calls = -1, _NO_CALLS
        for i, many, text, own, tokens in zip(
            of.tolist(), several[of].tolist(), texts, wrote, np.diff(edges).tolist(), strict=True
        ):
            if many:
                rows, calls = _turns(text, own, tokens, calls if i == before else _NO_CALLS)
                before = i
                found += rows
                owners += [i] * len(rows)
    fields = dict(zip(Turn._fields, map(list, zip(*found, strict=True)), strict=True)) if found else {}
    return Turns(fields, np.bincount(np.array(owners, np.int64), minlength=len(mask)), counts)


def _turns(text: str, wrote: bool, tokens: int, calls: Calls) -> tuple[list[Turn], Calls]:
    """The turns in a stretch, and the calls in it that wait for an answer."""
    if not wrote:
        return _told(text, tokens, calls), _NO_CALLS
    made = [*calls_in(text)] if OPENS in text else _NO_CALLS
    return [Turn("assistant", text, tokens, "tool" if made else None)], made


def _starts(mask: Lists) -> Array:
    """Where stretches begin, over all samples: with a response, and where the mask changes."""
    begins = np.zeros(len(mask.values), bool)
    begins[1:] = mask.values[1:] != mask.values[:-1]
    begins[mask.starts[mask.lengths > 0]] = True
    return begins.nonzero()[0]


def calls_in(text: str) -> Iterator[tuple[str, str]]:
    """(name, arguments) of the calls in what the policy wrote."""
    for words in CALL.findall(text):
        try:
            call = json.loads(words)
            yield str(call["name"]), json.dumps(call.get("arguments"), ensure_ascii=False)
        except (ValueError, KeyError, TypeError, AttributeError):
            yield "unreadable call", words.strip()


def _told(text: str, tokens: int, calls: Calls) -> list[Turn]:
    """What the policy was told: the answers to its calls, else the words of the environment."""
    head = HEAD.match(text)
    who = head[1] if head else None
    words = text[head.end() if head else 0 :].rstrip().removesuffix(TAIL).rstrip()
    marked = [answer.strip() for answer in ANSWER.findall(words)] if "<tool_response>" in words else []
    if calls:
        results = _results(marked, words, len(calls))
        length = tokens if len(calls) == 1 else None
        return [_answered(*call, result, length) for call, result in zip(calls, results, strict=True)]
    role = "tool" if marked or who in ("tool", "ipython", "observation") else "environment"
    return [Turn(role, "\n".join(marked) or words, tokens)]


def _results(marked: list[str], words: str, calls: int) -> list[str | None]:
    """The answer to each call; veRL may make fewer calls than the policy asked for."""
    found = marked or (NEXT.split(words) if calls > 1 else [words])
    answers: list[str | None] = [*found] if len(found) <= calls else [words]
    return [*answers, *[None] * (calls - len(answers))]


def _answered(name: str, arguments: str, result: str | None, tokens: int | None) -> Turn:
    ok = None if result is None else not result.startswith(FAILED)
    return Turn("tool", None, tokens, None, name, arguments, result, ok)
