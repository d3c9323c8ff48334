"""A sample of slime or of miles, from a dump or from memory, as rows of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import Chat, chat
from rollscope.sources.dumps.place import Spot
from rollscope.sources.dumps.stream import Row, Tables
from rollscope.sources.files.torch_archive import plain
from rollscope.sources.intake.gather import digest, number, whole
from rollscope.sources.intake.tables import text

READ = (
    *("group_index", "index", "prompt", "tokens", "response", "response_length", "label", "reward"),
    *("loss_mask", "weight_versions", "rollout_log_probs", "remove_sample", "status", "metadata"),
)
LEFT = (  # large, or of no use to a reader
    *("rollout_id", "teacher_log_probs", "rollout_routed_experts", "rollout_indexer_topk"),
    *("rollout_top_p_token_ids", "rollout_top_p_token_offsets", "multimodal_inputs", "multimodal_train_inputs"),
    *("spec_info", "prefix_cache_info", "session_id", "routing_key"),
)
OWN = READ + LEFT  # what else a sample has is kept under its name


def rollout(row: Row, spot: Spot) -> Tables:
    """The sample and its turns."""
    place, asked = spot.place, text(row.get("prompt")) or ""
    metadata = _mapping(plain(row.get("metadata")))
    id, group = sample_id(row.get("index"), spot), row.get("group_index")
    named = f"{place.name}/{digest(asked) if group is None else group}"
    talk = chat(metadata.get("messages"))
    sample = {
        "id": id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": named,
        "task": digest(asked),
        "repeat": place.repeats.number(named),
        "prompt": asked,
        "completion": text(row.get("response")),
        "answer": text(row.get("label")),
        "stop_reason": columns.stop_reason(row.get("status")),
        "tool_seconds": number(row.get("non_generation_time")) or None,
        **({"trained": False, "discard_reason": "removed"} if row.get("remove_sample") else {}),
        **_rewards(row),
        **_versions(row),
        **_tokens(row),
        **({} if talk is None else counted(talk)),
        **columns.rest({**metadata, **plain({k: v for k, v in row.items() if k not in OWN})}, ()),
    }
    return {"samples": [columns.known(sample)], "turns": talk.turns(id, place.step) if talk else []}


def counted(talk: Chat) -> dict[str, Any]:
    """How many turns a conversation has, and calls of tools."""
    return {name: value for name, value in talk.columns().items() if name in ("turns", "tool_calls")}


def sample_id(index: Any, spot: Spot) -> str:
    """slime's samples are known by their place in the dump, miles' by their index.

    Sets of an evaluation, and parts of one rollout, may have the same indices: these are numbered.
    """
    own = whole(index) if spot.place.framework == "miles" else None
    if own is None:
        return spot.id
    before = spot.place.repeats.number(f"index {own}")
    return f"{spot.place.name}/{own}" + (f".{before}" if before else "")


def _rewards(row: Row) -> dict[str, Any]:
    reward = plain(row.get("reward"))
    return {"reward": columns.total(reward), "rewards": columns.parts(reward) or None}


def _versions(row: Row) -> dict[str, Any]:
    """The weights that wrote it: one word for each time that the engine was asked."""
    words = plain(row.get("weight_versions"))
    versions = [version for word in words or [] if (version := _version(word)) is not None]
    return {"policy_version_min": min(versions, default=None), "policy_version_max": max(versions, default=None)}


def _version(word: Any) -> int | None:
    try:
        return int(str(word))
    except ValueError:
        return None


def _tokens(row: Row) -> dict[str, Any]:
    """`tokens` are prompt and response; masks and log-probabilities are the response's."""
    ids, length = plain(row.get("tokens")) or [], whole(row.get("response_length")) or 0
    prompt = max(0, len(ids) - length)
    mask = plain(row.get("loss_mask"))
    mask = mask if isinstance(mask, list) and len(mask) == length else None
    return {
        "token_ids": ids[prompt:] or None,
        "prompt_tokens": prompt,
        "response_tokens": length,
        "completion_tokens": length if mask is None else sum(map(bool, mask)),
        "action_mask": None if mask is None or all(mask) else [int(bool(value)) for value in mask],
        "rollout_logp": columns.cut(plain(row.get("rollout_log_probs")), 0, length),
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
