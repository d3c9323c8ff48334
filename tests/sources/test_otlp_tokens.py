"""Token ids and log-probabilities of calls, in spans: those of a sample are one sequence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.sources.otlp import tokens
from rollscope.sources.otlp.receiver import Receiver
from rollscope.store import store as rs
from tests.sources.test_otlp import listed, records, send, span, traces


def calls_of(sample: str, *calls: tuple[list[int], list[int], list[float] | None]) -> list[dict[str, Any]]:
    """Calls of a model as Agent-Lightning writes them: prompt, answer, log-probabilities."""
    spans = []
    for i, (asked, said, logp) in enumerate(calls, 1):
        about = {"prompt_token_ids": json.dumps(asked), "response_token_ids": json.dumps(said)}
        if logp is not None:
            about["logprobs.content"] = json.dumps([{"token": "x", "logprob": one} for one in logp])
        attributes = listed(gen_ai__operation__name="chat", agentlightning__rollout_id=sample, **about)
        spans.append(span(i, attributes=attributes))
    return spans


CALLS = {  # what the calls are -> the calls; then token ids, mask, log-probabilities (n: not known), prompt's length
    "one": ([([1, 2], [3, 4], [-1, -2])], [3, 4], None, [-1, -2], 2),
    "a prompt that repeats": ([([1], [2], [-1]), ([1, 2, 9], [3], [-3])], [2, 9, 3], [1, 0, 1], [-1, 0, -3], 1),
    "another prompt": ([([1], [2], [-1]), ([7, 8], [3], [-3])], [2, 7, 8, 3], [1, 0, 0, 1], [-1, 0, 0, -3], 1),
    "a prompt that repeats a part": (
        [([1, 5], [2], [-1]), ([1, 5, 9], [3], [-3])],
        [2, 9, 3],
        [1, 0, 1],
        [-1, 0, -3],
        2,
    ),
    "a call without them": ([([1], [2], [-1]), ([1, 2, 9], [3], None)], [2, 9, 3], [1, 0, 1], [-1, 0, "n"], 1),
    "too few of them": ([([1], [2, 3], [-1])], [2, 3], None, None, 1),
}


@pytest.mark.parametrize("what", CALLS)
def test_the_tokens_of_all_calls_are_one_sequence(what: str, tmp_path: Path) -> None:
    calls, ids, mask, logp, prompt = CALLS[what]
    receiver = Receiver(tmp_path)
    for one in calls_of("ro-1", *calls):  # each in a batch of its own, as Agent-Lightning sends them
        send(receiver, traces(one, rl__run__id="r"))
    receiver.close()
    (row,) = records(rs.open(tmp_path).run("r").sql("SELECT * FROM samples"))
    assert [*row["token_ids"]] == ids and row["prompt_tokens"] == prompt
    assert row["action_mask"] is None if mask is None else [*row["action_mask"]] == mask
    known = None if row["rollout_logp"] is None else ["n" if one != one else one for one in row["rollout_logp"]]
    assert known == logp


def tokens_of(place: Path) -> tuple[Any, ...]:
    """Of the one sample: token ids, mask, log-probabilities, and the prompt's length."""
    (row,) = records(rs.open(place).run("r").sql("SELECT * FROM samples WHERE id = 'ro-1'"))
    return *(None if row[n] is None else [*row[n]] for n in ("token_ids", "action_mask", "rollout_logp")), row[
        "prompt_tokens"
    ]


FIRST, SECOND, THIRD = calls_of("ro-1", ([1], [2], [-1]), ([1, 2, 9], [3], [-3]), ([1, 2, 9, 3, 7], [4], None))
TWO_CALLS = [2, 9, 3], [1, 0, 1], [-1, 0, -3], 1


def test_tokens_of_earlier_calls_that_are_not_known_any_more_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST", 12)
    others = [span(10 + i, attributes=calls_of(f"other-{i}", ([1] * 5, [2], None))[0]["attributes"]) for i in range(3)]
    receiver = Receiver(tmp_path)
    for one in (FIRST, SECOND, *others, THIRD):  # the others take the room of the first sample
        send(receiver, traces(one, rl__run__id="r"))
    receiver.close()
    assert tokens_of(tmp_path) == TWO_CALLS
    receiver = Receiver(tmp_path)  # which knows the run from its files
    (fourth,) = calls_of("ro-1", ([1, 2, 9, 3, 7, 4], [5], None))
    send(receiver, traces({**fourth, "spanId": span(99)["spanId"]}, rl__run__id="r"))
    receiver.close()
    assert tokens_of(tmp_path) == TWO_CALLS


def test_another_attempt_at_a_rollout_has_tokens_of_its_own(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    for one, attempt in ((FIRST, "at-1"), (SECOND, "at-1"), (THIRD, "at-2")):
        send(receiver, traces(one, rl__run__id="r", agentlightning__attempt_id=attempt))
    receiver.close()
    ids, mask, logp, prompt = tokens_of(tmp_path)
    assert (ids, mask, prompt) == ([4], [1], 5) and np.isnan(logp).tolist() == [True]


@pytest.mark.parametrize(
    "ids", ["[true]", "[2.5]", "[-5]", "[1099511627776]", '["4"]', "{}", "4", "[" + "1," * 300000 + "1]"]
)
def test_what_are_no_token_ids_is_no_column(ids: str, tmp_path: Path) -> None:
    receiver, about = Receiver(tmp_path), {"prompt_token_ids": "[1]", "response_token_ids": ids}
    attributes = listed(gen_ai__operation__name="chat", agentlightning__rollout_id="ro-1", **about)
    send(receiver, traces(span(1, attributes=attributes), rl__run__id="r"))
    receiver.close()
    (row,) = records(rs.open(tmp_path).run("r").sql("SELECT token_ids, prompt_tokens FROM samples"))
    assert row["token_ids"] is None and np.isnan(row["prompt_tokens"])


def test_a_sample_that_is_too_long_keeps_the_tokens_of_its_first_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_OF_ONE", 4)
    receiver = Receiver(tmp_path)
    for one in (FIRST, SECOND, THIRD):
        send(receiver, traces(one, rl__run__id="r"))
    receiver.close()
    assert tokens_of(tmp_path) == TWO_CALLS


def test_the_tokens_of_a_file_that_grows_are_those_of_all_its_calls(tmp_path: Path, imported: Any) -> None:
    """A later import knows the calls before it from the file."""
    file, (new,) = tmp_path / "traces.jsonl", calls_of("ro-2", ([5], [6], [-1]))
    for spans in ([FIRST], [SECOND, {**new, "spanId": span(50)["spanId"]}]):
        with file.open("a") as growing:
            growing.write(json.dumps(traces(*spans, service__name="agent")) + "\n")
        imported.take(file)
    rows = records(imported.run().sql("SELECT id, token_ids, prompt_tokens FROM samples ORDER BY id"))
    kept = [(row["id"], [*row["token_ids"]], row["prompt_tokens"]) for row in rows]
    assert kept == [("ro-1", TWO_CALLS[0], 1), ("ro-2", [6], 1)]
