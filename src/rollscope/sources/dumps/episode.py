"""An episode of verifiers: each trace in it is a sample, with its messages, tokens and timing.

A trace is a graph of messages. The sample is the path that ends in its last message; other paths
(compacted histories, helpers) are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.sources.intake.gather import digest, number, whole

from . import columns
from .chat import Chat, content
from .place import Spot
from .stream import Row, Tables

Node = Mapping[str, Any]


def samples(row: Row, spot: Spot) -> Tables:
    """The samples, turns and spans of an episode."""
    found: dict[str, list[dict[str, Any]]] = {"samples": [], "turns": [], "spans": []}
    traces = [trace for trace in row.get("traces") or [] if isinstance(trace, Mapping)]
    about = _about(row, spot)
    if not traces:
        found["samples"].append(columns.known({**about, "id": str(row.get("id") or spot.id), "error": _error(row)}))
    for trace in traces:
        sample = _sample(trace, about, spot)
        talk = Chat([_message(node, trace) for node in _path(trace)], _first(_path(trace)))
        found["samples"].append(columns.known({**sample, **talk.columns()}))
        found["turns"] += talk.turns(sample["id"], sample["step"])
    return found


def _about(row: Row, spot: Spot) -> dict[str, Any]:
    """What the traces of an episode have in common."""
    run, task, place = _in(row, "run"), _in(row, "task"), spot.place
    work, group = _in(run, "work"), _in(row, "group").get("id")
    policy, env = _in(work, "policy"), _in(row, "env")
    key = task.get("key") or task.get("hash") or digest(str(task.get("data")))
    step = whole(work.get("step"))
    return {
        "step": place.step if step is None or place.step else step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": f"{place.split}/{place.step}/{group or key}",
        "task": str(key),
        "env": env.get("name") or env.get("id") or None,
        "answer": _answer(_in(task, "data")),
        "policy_version_min": whole(policy.get("start")),
        "policy_version_max": whole(policy.get("end")),
    }


def _sample(trace: Row, about: Mapping[str, Any], spot: Spot) -> dict[str, Any]:
    rewards = {name: part for name, part in _in(trace, "rewards").items() if isinstance(part, Mapping)}
    scores = {name: number(part.get("score")) for name, part in rewards.items()}
    weighted = [(number(part.get("score")) or 0) * (number(part.get("weight", 1)) or 0) for part in rewards.values()]
    agent, info, timing = _in(trace, "agent"), _in(trace, "info"), _in(trace, "timing")
    trainable = agent.get("trainable") is not False
    effective = spot.place.kind == "effective" and trainable
    return {
        **about,
        "id": str(trace.get("id") or spot.id),
        "repeat": spot.place.repeats.number(about["group"]),
        "reward": sum(weighted) if rewards else None,
        "rewards": columns.known(scores) or None,
        "advantage": number(info.get("advantage")),
        "sample_metrics": columns.known(_in(trace, "metrics")) or None,
        "stop_reason": columns.stop_reason(trace.get("stop_condition")),
        "error": _error(trace),
        "generate_seconds": _seconds(timing.get("agent")),
        "reward_seconds": _seconds(timing.get("scoring")),
        "trained": True if effective else None if trainable else False,
        "tags": [str(agent["name"])] if agent.get("name") else None,
        "extra": columns.known({**info, "branches": _branches(trace)}) or None,
        **_tokens(_path(trace)),
    }


def _path(trace: Row) -> list[Node]:
    """The messages from a root to the last one. A link that leads in a circle ends it."""
    nodes = [node for node in trace.get("nodes") or [] if isinstance(node, Mapping)]
    path: list[Node] = []
    at: int | None = len(nodes) - 1
    while at is not None and 0 <= at < len(nodes) and len(path) < len(nodes):
        path.append(nodes[at])
        parent = whole(nodes[at].get("parent"))
        at = parent if parent is not None and parent < at else None
    return path[::-1]


def _branches(trace: Row) -> int | None:
    """The number of paths, if there is more than one."""
    nodes = trace.get("nodes") or []
    parents = {node.get("parent") for node in nodes if isinstance(node, Mapping)}
    leaves = len(set(range(len(nodes))) - parents)
    return leaves if leaves > 1 else None


def _first(path: Sequence[Node]) -> int:
    return next((i for i, node in enumerate(path) if node.get("sampled")), len(path))


def _message(node: Node, trace: Row) -> dict[str, Any]:
    """A message with what the call that made it measured."""
    message = dict(_in(node, "message"))
    number_of = {id(other): i for i, other in enumerate(trace.get("nodes") or [])}.get(id(node))
    call = next((c for c in trace.get("calls") or [] if isinstance(c, Mapping) and c.get("node") == number_of), {})
    if node.get("sampled"):
        message["seconds"] = _seconds(call.get("time"))
        message["stop_reason"] = columns.stop_reason(call.get("finish_reason"))
        message["tokens"] = sum(map(bool, node.get("mask") or [])) or None
    return columns.known({**message, "content": content(message)})


def _tokens(path: Sequence[Node]) -> dict[str, Any]:
    ids = [token for node in path for token in node.get("token_ids") or []]
    mask = [bool(value) for node in path for value in node.get("mask") or []]
    if not ids or len(mask) != len(ids):
        return {}
    streams = {"rollout_logp": _spread(path, "logprobs"), "token_advantages": _spread(path, "advantages")}
    return columns.tokens(ids, mask, len(ids), **streams)


def _spread(path: Sequence[Node], name: str) -> list[float] | None:
    """Values of the sampled tokens, with 0 at the other tokens of the path."""
    if not any(node.get(name) for node in path):
        return None
    spread: list[float] = []
    for node in path:
        values = iter(node.get(name) or [])
        spread += [next(values, 0.0) if sampled else 0.0 for sampled in node.get("mask") or []]
    return spread


def _seconds(span: Any) -> float | None:
    start, end = (number(span.get(key)) if isinstance(span, Mapping) else None for key in ("start", "end"))
    return end - start if start and end and end >= start else None


def _error(row: Row) -> str | None:
    errors = [error for error in row.get("errors") or [] if isinstance(error, Mapping)]
    return f"{errors[-1].get('type')}: {errors[-1].get('message')}" if errors else None


def _answer(data: Mapping[str, Any]) -> str | None:
    return next((str(data[name]) for name in ("answer", "ground_truth", "target") if data.get(name) is not None), None)


def _in(row: Row, name: str) -> Mapping[str, Any]:
    value = row.get(name)
    return value if isinstance(value, Mapping) else {}
