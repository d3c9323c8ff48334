"""Attributes of OpenTelemetry as a dict, and which of them say what of a run.

The first name of a list that is present counts. `rl.*` are those of the proposal for reinforcement
learning in OpenTelemetry's conventions, `agentlightning.*` those of Agent-Lightning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.sources.intake.gather import number, whole

DEEPEST = 16  # levels of lists and maps in a value
RUN = ("rl.run.id", "rollscope.run.id")
STEP = ("rl.step", "rl.loop.iteration", "rl.iteration", "rl.train.step", "global_step", "training.step", "step")
SAMPLE = ("rl.sample.id", "agentlightning.rollout_id", "rl.trajectory.id", "rollout_id")
ATTEMPT = ("agentlightning.attempt_id",)
GROUP = ("rl.sample.group.id", "rl.group.id", "group_id", "prompt_id")  # the last is ROLL's
TASK = ("rl.sample.task.id", "rl.task.id", "rl.sample.task.name")
VERSION = ("rl.policy.version", "rl.model.version", "rl.sync.version")
ENVIRONMENT = ("rl.environment.name", "rl.env.name")
LANE = ("rl.worker", "worker", "worker_name", "cluster_name", "ray.actor.name", "thread.name")


def attributes(listed: Any) -> dict[str, Any]:
    """The attributes of a list of keys and values; a later one of the same key counts."""
    found = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("key"), str):
            found[one["key"]] = value_of(one.get("value"))
    return found


def value_of(value: Any, depth: int = 0) -> Any:
    """A value of any kind in plain Python."""
    if not isinstance(value, Mapping) or depth > DEEPEST:
        return None
    kind, content = next(iter(value.items()), ("", None))
    if kind == "intValue":
        return whole(int(content)) if isinstance(content, str | int) and len(str(content)) < 25 else None
    if kind == "doubleValue":
        return number(content)
    if kind == "arrayValue":
        return [value_of(one, depth + 1) for one in _list(content, "values")]
    if kind == "kvlistValue":
        pairs = [one for one in _list(content, "values") if isinstance(one, Mapping)]
        return {str(one.get("key")): value_of(one.get("value"), depth + 1) for one in pairs}
    return content if isinstance(content, str | bool | int | float) else None


def _list(content: Any, key: str) -> list[Any]:
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, list) else []


def first(found: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first value; an empty text is none (Agent-Lightning's ids between two rollouts)."""
    return next((found[name] for name in names if found.get(name) not in (None, "")), None)


def word(found: Mapping[str, Any], names: Sequence[str]) -> str | None:
    value = first(found, names)
    return None if value is None else str(value)[:1000]


def count(found: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """A whole number that may be spelled as text."""
    value = first(found, names)
    if isinstance(value, str) and value.strip().lstrip("-").isdigit() and len(value) < 20:
        return int(value)
    return whole(value)


def parsed(value: Any) -> Any:
    """A value that may be JSON in a text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def nanoseconds(value: Any) -> int | None:
    """A time as int64; JSON spells it as text."""
    if isinstance(value, str) and value.isdigit() and len(value) < 20:
        value = int(value)
    found = whole(value)
    return found if found is not None and found > 0 else None
