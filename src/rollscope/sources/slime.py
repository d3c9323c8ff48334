"""Dumps of slime and of miles: `--save-debug-rollout-data`, `--save-debug-train-data`.

`rollout_data/{id}.pt` holds the samples of a rollout, `eval_{id}.pt` those of an evaluation,
`train_data/*.pt` what training added to them, miles' `trajectory/{id}.jsonl` their messages. A step
is the id of the rollout. Files of `torch.save` are read without running what is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import chat
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing, once
from rollscope.sources.files import torch_archive
from rollscope.sources.intake.gather import digest, number, whole
from rollscope.sources.intake.tables import text

from . import Item, Since, Skipped, SourceError
from .jsonl import first

NAMES = ("slime", "miles")
FILE = re.compile(r"(eval_)?(\d{1,18})(?:_\d+)?\.(?:pt|jsonl)")
FOLDERS = ("rollout_data", "train_data", "trajectory")
TRAINED = {"old_logp": "log_probs", "ref_logp": "ref_log_probs", "token_advantages": "advantages"}
OWN = (
    *("group_index", "index", "rollout_id", "prompt", "tokens", "response", "response_length", "label", "reward"),
    *("loss_mask", "weight_versions", "rollout_log_probs", "remove_sample", "status", "metadata", "teacher_log_probs"),
    *("rollout_routed_experts", "rollout_indexer_topk", "rollout_top_p_token_ids", "rollout_top_p_token_offsets"),
    *("multimodal_inputs", "multimodal_train_inputs", "spec_info", "prefix_cache_info", "session_id", "routing_key"),
)


def recognises(path: Path) -> bool:
    if not path.is_file() or not FILE.fullmatch(path.name):
        return False
    if path.suffix == ".pt":
        return torch_archive.is_one(path, damaged=path.parent.name in FOLDERS)
    row = first(path)
    return row is not None and {"sample_index", "group_index", "messages"} <= row.keys()


def rows(path: Path, since: Since) -> Iterator[Item]:
    match = FILE.fullmatch(path.name)
    assert match is not None
    split, folder = "eval" if match[1] else "train", path.parent
    place = Place(
        framework="miles" if path.suffix == ".jsonl" else _framework(path),
        folder=folder.parent if folder.name in FOLDERS else folder,
        name=f"{split}/{match[2]}",
        step=int(match[2]),
        split=split,
        kind=folder.name if folder.name in FOLDERS else "rollout_data",
    )
    if path.suffix == ".jsonl":
        yield from growing(path, since, place, _messages)
        return
    yield from once(path, since, place, _samples(path), _sample)


def _framework(path: Path) -> str:
    """miles keeps facts of the rollout beside the samples, or a folder of messages."""
    beside = path.parent.parent / "trajectory"
    for dump in torch_archive.load(path):
        if isinstance(dump, Mapping) and ("metadata" in dump or "rollout_data" in dump):
            return "miles"
    return "miles" if beside.is_dir() else "slime"


def _samples(path: Path) -> Iterator[Row | Skipped]:
    """The samples of a file. Tensors that no column needs are not read."""
    for dump in torch_archive.load(path):
        if not isinstance(dump, Mapping) or not isinstance(dump.get("samples", dump.get("rollout_data")), list | dict):
            raise SourceError(f"expected a dict with 'samples', got a {type(dump).__name__}: no dump of slime or miles")
        listed = dump.get("samples")
        for row in listed if isinstance(listed, list) else _turned(dump["rollout_data"]):
            yield row if isinstance(row, Mapping) else Skipped(f"a sample is a {type(row).__name__}, not a dict", path)


def _turned(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The samples of miles' train data, which is one list for each column."""
    indices = data.get("sample_indices")
    if not isinstance(indices, Sequence):
        return
    listed = {name: column for name, column in data.items() if isinstance(column, list) and len(column) == len(indices)}
    for i, index in enumerate(indices):
        yield {
            "sample_index": index,
            **{name: column[i] for name, column in listed.items() if name in TRAINED.values()},
        }


def _sample(row: Row, spot: Spot) -> Tables:
    if "tokens" not in row or "response_length" not in row or "log_probs" in row:
        return {"samples": [_trained(row, spot)]}
    place, prompt = spot.place, row.get("prompt")
    asked, metadata = text(prompt) or "", torch_archive.plain(row.get("metadata")) or {}
    id = _id(row.get("index"), spot)
    reward, group = torch_archive.plain(row.get("reward")), row.get("group_index")
    versions = [version for one in row.get("weight_versions") or [] if (version := _version(one)) is not None]
    status = columns.stop_reason(row.get("status"))
    sample = {
        "id": id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": f"{place.name}/{digest(asked) if group is None else group}",
        "task": digest(asked),
        "repeat": place.repeats.number(str(group)),
        "prompt": asked,
        "completion": text(row.get("response")),
        "answer": text(row.get("label")),
        "reward": columns.total(reward),
        "rewards": columns.parts(reward) or None,
        "policy_version_min": min(versions, default=None),
        "policy_version_max": max(versions, default=None),
        "stop_reason": status,
        "tool_seconds": number(row.get("non_generation_time")) or None,
        **({"trained": False, "discard_reason": "removed"} if row.get("remove_sample") else {}),
        **_tokens(row),
        **columns.rest({**metadata, **torch_archive.plain({k: v for k, v in row.items() if k not in OWN})}, ()),
    }
    talk = chat(metadata.get("messages"))
    turns = talk.turns(id, place.step) if talk else []
    return {"samples": [columns.known(sample)], "turns": turns}


def _tokens(row: Row) -> dict[str, Any]:
    """`tokens` are prompt and response; masks and log-probabilities are the response's."""
    ids, length = torch_archive.plain(row.get("tokens")) or [], whole(row.get("response_length")) or 0
    prompt = max(0, len(ids) - length)
    mask = torch_archive.plain(row.get("loss_mask"))
    mask = mask if isinstance(mask, list) and len(mask) == length else None
    logp = torch_archive.plain(row.get("rollout_log_probs"))
    return {
        "token_ids": ids[prompt:] or None,
        "prompt_tokens": prompt,
        "response_tokens": length,
        "completion_tokens": length if mask is None else sum(map(bool, mask)),
        "action_mask": None if mask is None or all(mask) else [int(bool(value)) for value in mask],
        "rollout_logp": columns.cut(logp, 0, length),
    }


def _trained(row: Row, spot: Spot) -> dict[str, Any]:
    """What training added to a sample of the rollout."""
    found = {ours: torch_archive.plain(row.get(theirs)) for ours, theirs in TRAINED.items()}
    advantages = [value for value in found["token_advantages"] or [] if number(value) is not None]
    index = row.get("rollout_position") if spot.place.framework == "slime" else row.get("sample_index")
    return columns.known(
        {
            "id": _id(index, spot) if spot.place.framework == "miles" else f"{spot.place.name}/{_or(index, spot.row)}",
            "step": spot.place.step,
            "time_ns": spot.time_ns,
            "trained": True,
            "advantage": sum(advantages) / len(advantages) if advantages else None,
            **{name: values for name, values in found.items() if values},
        }
    )


def _messages(row: Row, spot: Spot) -> Tables:
    """miles' file of messages: the turns of a sample."""
    id, talk = _id(row.get("sample_index"), spot), chat(row.get("messages"))
    if talk is None:
        raise ValueError("its messages are not a list of messages")
    counted = {name: value for name, value in talk.columns().items() if name in ("messages", "turns", "tool_calls")}
    sample = {"id": id, "step": spot.place.step, "time_ns": spot.time_ns, **columns.known(counted)}
    return {"samples": [sample], "turns": talk.turns(id, spot.place.step)}


def _id(index: Any, spot: Spot) -> str:
    """slime's samples are known by their place in the dump, miles' by their index."""
    return f"{spot.place.name}/{_or(index, spot.row) if spot.place.framework == 'miles' else spot.row}"


def _or(index: Any, otherwise: int) -> int:
    found = whole(index)
    return otherwise if found is None else found


def _version(word: Any) -> int | None:
    try:
        return int(str(word))
    except ValueError:
        return None
