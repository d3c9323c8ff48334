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

from rollscope.sources import Item, Since, Skipped, SourceError
from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import chat
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing, once
from rollscope.sources.files import torch_archive
from rollscope.sources.intake.gather import number, whole
from rollscope.sources.jsonl import first

from .sample import counted, rollout, sample_id

FILE = re.compile(r"(eval_)?(\d{1,18})(?:_\d+)?\.(?:pt|jsonl)")
FOLDERS = ("rollout_data", "train_data", "trajectory")
TRAINED = {"old_logp": "log_probs", "ref_logp": "ref_log_probs", "token_advantages": "advantages"}


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
    return rollout(row, spot)


def _trained(row: Row, spot: Spot) -> dict[str, Any]:
    """What training added to a sample of the rollout."""
    found = {ours: torch_archive.plain(row.get(theirs)) for ours, theirs in TRAINED.items()}
    advantages = [value for value in found["token_advantages"] or [] if number(value) is not None]
    index = row.get("rollout_position") if spot.place.framework == "slime" else row.get("sample_index")
    return columns.known(
        {
            "id": sample_id(index, spot)
            if spot.place.framework == "miles"
            else f"{spot.place.name}/{_or(index, spot.row)}",
            "step": spot.place.step,
            "time_ns": spot.time_ns,
            "trained": True,
            "advantage": sum(advantages) / len(advantages) if advantages else None,
            **{name: values for name, values in found.items() if values},
        }
    )


def _messages(row: Row, spot: Spot) -> Tables:
    """miles' file of messages: the turns of a sample."""
    id, talk = sample_id(row.get("sample_index"), spot), chat(row.get("messages"))
    if talk is None:
        raise ValueError("its messages are not a list of messages")
    told = {"messages": list(talk.messages), **counted(talk)}
    sample = {"id": id, "step": spot.place.step, "time_ns": spot.time_ns, **told}
    return {"samples": [columns.known(sample)], "turns": talk.turns(id, spot.place.step)}


def _or(index: Any, otherwise: int) -> int:
    found = whole(index)
    return otherwise if found is None else found
