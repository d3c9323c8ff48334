"""Traces of Trackio as samples: a conversation with what is known about it.

TRL's asynchronous trainers log their rollouts so, with rewards, group and version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.gather import number, whole
from rollscope.sources.intake.tables import text

REWARDS = "rewards/"  # and the name of a function
COUNTS = ("prompt_tokens", "completion_tokens")


def trace(messages: Any, about: Any, id: str, step: int, time_ns: int) -> dict[str, Any] | None:
    """A trace as a sample; None if it has no messages.

    What follows the last message of a user is the completion.
    """
    said = [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list) else []
    if not said:
        return None
    known: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
    last = max((i for i, one in enumerate(said) if one.get("role") in ("user", "system")), default=-1)
    version, group = whole(known.get("model_version")), known.get("group_id")
    read = {
        "id": id,
        "step": step,
        "time_ns": time_ns,
        "prompt": _words(said[: last + 1]),
        "completion": _words(said[last + 1 :]),
        "messages": said,
        "group": None if group is None else str(group),
        "policy_version_min": version,
        "policy_version_max": version,
        "rewards": {name.removeprefix(REWARDS): number(known[name]) for name in known if name.startswith(REWARDS)},
        **{name: number(known.get(name)) for name in ("reward", "advantage")},
        **{name: whole(known.get(name)) for name in COUNTS},
        "extra": {name: value for name, value in known.items() if not _has_column(name)},
    }
    return {name: value for name, value in read.items() if value not in (None, {})}


def _words(said: list[Mapping[str, Any]]) -> str | None:
    spoken = [{"content": one.get("content") or ""} for one in said]
    return text(spoken) if spoken else None


def _has_column(name: str) -> bool:
    return name in (*COUNTS, "reward", "advantage", "group_id", "model_version") or name.startswith(REWARDS)
