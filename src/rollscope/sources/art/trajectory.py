"""A trajectory of ART as a sample: messages, and what the model answered with its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import Chat
from rollscope.sources.intake.gather import digest, number, whole

Message = dict[str, Any]
OF_TABLE = ("sample", "turn", "step")  # what the recorder adds to a turn


def sample(trajectory: Any, id: str) -> dict[str, Any]:
    """The columns of a trajectory. The answers of the model in it are `Choice`s."""
    parts = list(trajectory.messages_and_choices)
    messages = [_message(part) for part in parts]
    choices = [part for part in parts if not isinstance(part, Mapping)]
    first = next((i for i, part in enumerate(parts) if not isinstance(part, Mapping)), len(parts))
    talk, metadata = Chat(messages, first), dict(trajectory.metadata)
    versions = [trajectory.initial_policy_version, trajectory.final_policy_version]
    named = [metadata.get("initial_policy_version"), metadata.get("final_policy_version")]
    oldest, newest = (whole(own if own is not None else said) for own, said in zip(versions, named, strict=True))
    known = {
        "id": id,
        "task": str(metadata.get("scenario_id") or digest(talk.prompt or "")),
        "reward": number(trajectory.reward),
        "sample_metrics": columns.parts(trajectory.metrics) or None,
        "policy_version_min": oldest,
        "policy_version_max": newest,
        "stop_reason": columns.stop_reason(choices[-1].finish_reason) if choices else None,
        "extra": _extra(trajectory, metadata) or None,
        **talk.columns(),
        **_tokens(choices),
    }
    return columns.known({**known, "turns": _turns(messages[first:])})


def _turns(messages: list[Message]) -> Any:
    """The turns after the prompt, if there is more than one."""
    rows = Chat(messages, 0).turns("", 0)
    own = [{name: value for name, value in row.items() if name not in OF_TABLE} for row in rows]
    return own if len(own) > 1 else len(own)


def _message(part: Any) -> Message:
    if isinstance(part, Mapping):
        return dict(part)
    message = part.message.model_dump(mode="json", exclude_none=True)
    tokens = len(_logprobs(part)) or None
    return columns.known({**message, "tokens": tokens, "stop_reason": columns.stop_reason(part.finish_reason)})


def _extra(trajectory: Any, metadata: Message) -> Message:
    more = {"logs": list(trajectory.logs) or None, "additional_histories": len(trajectory.additional_histories) or None}
    return columns.known({**metadata, **more})


def _logprobs(choice: Any) -> list[Any]:
    held = choice.logprobs
    return list(held.content or held.refusal or []) if held is not None else []


def _tokens(choices: list[Any]) -> Message:
    """The tokens of all answers, one after the other, if every answer has them."""
    each = [_logprobs(choice) for choice in choices]
    if not each or not all(each):
        return {}
    tokens = [token for several in each for token in several]
    ids = [_id(token.token) for token in tokens]
    found = {"completion_tokens": len(tokens), "rollout_logp": [float(token.logprob) for token in tokens]}
    return {**found, "token_ids": ids} if None not in ids else {**found, "tokens": [str(one.token) for one in tokens]}


def _id(token: str) -> int | None:
    """vLLM writes `token_id:123` where ART asks it to."""
    name, _, digits = token.partition(":")
    return int(digits) if name == "token_id" and digits.isdecimal() else None
