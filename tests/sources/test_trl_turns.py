"""Turns of TRL's completions, in the form in which its loop of tools leaves them."""

from __future__ import annotations

from typing import Any

from rollscope.sources.trl.turns import turns


def asks(*calls: tuple[str, Any]) -> dict[str, Any]:
    made = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    return {"role": "assistant", "content": "", "tool_calls": made}


def test_one_message_has_no_turns() -> None:
    assert turns([{"role": "assistant", "content": "5"}]) is None


def test_answers_belong_to_the_calls_of_their_tools() -> None:
    """The answer of an asynchronous tool comes after those of the others."""
    said = [
        asks(("slow", {"a": 1}), ("add", {"a": 2, "b": 3}), ("add", '{"a": 9}')),
        {"role": "tool", "name": "add", "content": "5"},
        {"role": "tool", "name": "add", "content": "{'error': 'b is missing'}"},
        {"role": "tool", "name": "slow", "content": [{"type": "text", "text": "done"}]},
        {"role": "assistant", "content": "It is 5."},
    ]
    found = turns(said)
    assert found is not None and [turn["role"] for turn in found] == ["assistant", "tool", "tool", "tool", "assistant"]
    assert found[0]["stop_reason"] == "tool" and found[4] == {"role": "assistant", "content": "It is 5."}
    answers = [(turn["tool"], turn["arguments"], turn["result"], turn["ok"]) for turn in found[1:4]]
    assert answers == [
        ("add", '{"a": 2, "b": 3}', "5", True),
        ("add", '{"a": 9}', "{'error': 'b is missing'}", False),
        ("slow", '{"a": 1}', "done", True),
    ]


def test_a_call_without_an_answer_and_an_answer_without_a_call_are_kept() -> None:
    found = turns([asks(("add", None)), {"role": "user", "content": "stop"}, {"role": "tool", "content": "?"}])
    assert found is not None and [turn["role"] for turn in found] == ["assistant", "tool", "user", "tool"]
    assert (found[1]["tool"], "result" in found[1], found[3]["tool"], found[3]["result"]) == ("add", False, "", "?")


def test_odd_messages_are_no_calls() -> None:
    odd = [{"tool_calls": "x"}, {"role": "assistant", "tool_calls": [1, {"function": 2}], "content": None}]
    assert turns(odd) == [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]
