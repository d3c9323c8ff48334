"""Columns of a sample from values that frameworks name and shape in their own ways."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from rollscope.sources.intake.gather import number

STOP = {  # their word for how a rollout ended -> ours
    **dict.fromkeys(("completed", "stop", "eos", "finished", "agent_completed", "env_done", "done"), "stop"),
    **dict.fromkeys(("truncated", "length", "max_length", "max_response_length", "max_tokens"), "length"),
    **dict.fromkeys(("failed", "error"), "error"),
    **dict.fromkeys(("max_turns", "max_turns_exceeded", "max_turns_reached"), "max_turns"),
    **dict.fromkeys(("tool_calls", "tool"), "tool"),
}


def stop_reason(word: Any) -> str | None:
    """How a rollout ended, in our words; a word that is not known stays."""
    if word is None or word == "":
        return None
    return STOP.get(str(word).lower(), str(word))


def known(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that have a value."""
    return {name: value for name, value in row.items() if value is not None}


def rest(row: Mapping[str, Any], used: Container[str]) -> dict[str, Any]:
    """What a row holds beside its known keys: numbers as metrics, everything else as it is."""
    left = {name: value for name, value in row.items() if name not in used and value not in (None, [], {}, "")}
    numbers = {name: value for name, value in left.items() if number(value) is not None}
    others = {name: value for name, value in left.items() if name not in numbers}
    return {"sample_metrics": numbers or None, "extra": others or None}


def parts(rewards: Any) -> dict[str, float]:
    """The rewards by part in a mapping; what is not a number is left out."""
    if not isinstance(rewards, Mapping):
        return {}
    return {str(name): value for name, inner in rewards.items() if (value := number(inner)) is not None}


def total(reward: Any, key: str = "score") -> float | None:
    """One number for a reward that may be a number, a number for each token, or several parts."""
    if isinstance(reward, list):
        return sum(value for inner in reward if (value := number(inner)) is not None) if reward else None
    if isinstance(reward, Mapping):
        found = parts(reward)
        return found.get(key, found.get("reward", next(iter(found.values())) if len(found) == 1 else None))
    return number(reward)


def tokens(ids: Sequence[Any], mask: Sequence[Any] | None, length: int, **streams: Any) -> dict[str, Any]:
    """The columns of the tokens after the prompt.

    `ids` and the streams cover the whole sequence of `length` tokens, or only the response; `mask`
    is 1 where the policy sampled the token.
    """
    mask = None if mask is None else [int(bool(value)) for value in mask[:length]]
    first = length if mask is None else next((i for i, value in enumerate(mask) if value), length)
    action = None if mask is None else mask[first:]
    found = {name: cut(values, first, length) for name, values in streams.items()}
    return {
        "token_ids": list(ids[first:length]) or None,
        "prompt_tokens": first,
        "response_tokens": length - first,
        "completion_tokens": length - first if action is None else sum(action),
        "action_mask": None if action is None or all(action) else action,
        **{name: values for name, values in found.items() if values},
    }


def cut(values: Any, first: int, length: int) -> list[Any] | None:
    """The values of the response; None if they are not one for each of its tokens."""
    if not isinstance(values, list) or not values:
        return None
    if len(values) >= length:
        return values[first:length]
    return values if len(values) == length - first else None
