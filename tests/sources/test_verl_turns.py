"""Turns of veRL's rollouts, from the mask and the words of chat templates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rollscope.sources.live.text import Decoder, Spelled
from rollscope.sources.verl.turns import turns
from rollscope.store.log.lists import Lists

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>'
QWEN = "user\n<tool_response>\n5\n</tool_response>\nassistant\n"


class Letters:
    """A tokenizer whose tokens are the letters of a text."""

    def __init__(self, words: str) -> None:
        self.words = words

    def batch_decode(self, rows: list[list[int]], skip_special_tokens: bool) -> list[str]:
        return ["".join(self.words[i] for i in row) for row in rows]


def read(*stretches: str) -> list[dict[str, Any]]:
    """Turns of stretches whose letters are tokens; the policy wrote the first, the third, ..."""
    words = "".join(stretches)
    mask = np.concatenate([np.full(len(text), 1 - i % 2) for i, text in enumerate(stretches)])
    spelled = Spelled(Decoder(Letters(words)), [*range(len(words))])
    (found,) = turns(Lists(mask, np.array([len(words)])), spelled, [None])
    assert found is None or isinstance(found, list)
    return found or []


def tool(result: str | None = "5", ok: bool | None = True, **more: Any) -> dict[str, Any]:
    known = {"role": "tool", "tool": "add", "arguments": json.dumps({"a": 2}), "result": result, "ok": ok, **more}
    return {key: value for key, value in known.items() if value is not None}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(QWEN, "5", id="marked as Qwen does"),
        pytest.param("tool\n5\nassistant\n", "5", id="a role of its own"),
        pytest.param("\n\nipython\n5\nassistant\n", "5", id="as Llama does"),
        pytest.param("5", "5", id="bare words"),
        pytest.param("user\n<tool_response>\n5", "5", id="cut off"),
        pytest.param("tool\nask an assistant\nassistant\n", "ask an assistant", id="words that end like a header"),
    ],
)
def test_an_answer_is_the_result_of_the_call_before_it(told: str, expected: str) -> None:
    first, second, last = read(CALL, told, "Done.")
    assert first == {"role": "assistant", "content": CALL, "tokens": len(CALL), "stop_reason": "tool"}
    assert second == tool(expected, tokens=len(told))
    assert last == {"role": "assistant", "content": "Done.", "tokens": 5}


@pytest.mark.parametrize(
    "told",
    [
        "user\n<tool_response>\n5\n</tool_response>\n<tool_response>\n6\n</tool_response>\nassistant\n",
        "tool\n5\ntool\n6\nassistant\n",
    ],
)
def test_answers_to_several_calls_are_told_apart(told: str) -> None:
    assert read(CALL + CALL, told, "Done.")[1:3] == [tool("5"), tool("6")]


def test_a_call_that_was_not_made_has_no_result() -> None:
    assert read(CALL + CALL, QWEN, "Done.")[1:3] == [tool("5"), tool(None, None)]


def test_what_verl_says_of_a_failed_call_is_a_failure() -> None:
    told = "tool\nUnknown function 'add'. Available tools: []\nassistant\n"
    assert read(CALL, told, "Oh.")[1]["ok"] is False


def test_a_call_that_cannot_be_read_keeps_its_words() -> None:
    found = read("<tool_call>{add</tool_call>", QWEN, "Oh.")[1]
    assert (found["tool"], found["arguments"], found["result"]) == ("unreadable call", "{add", "5")


def test_words_without_a_call_are_those_of_the_environment() -> None:
    assert read("Up?", "user\nToo high.\nassistant\n", "Down?")[1] == {
        "role": "environment",
        "content": "Too high.",
        "tokens": 25,
    }


def test_a_response_that_the_policy_wrote_alone_has_no_turns() -> None:
    assert read("It is 5.") == []


def test_long_blanks_are_read_at_once() -> None:
    blank = " " * 300_000
    found = read(f"<tool_call>{blank}x", f"tool{blank}\n5{blank}.", "Done.")
    assert [turn["role"] for turn in found] == ["assistant", "tool", "assistant"]
