"""AReaL's dumps of rollouts: `rollout.dump_to_file=true`.

A task is a file, `rollout/{version}/{task}.jsonl`; evaluations are in `eval-rollout`. The step of a
sample is the version of the newest weights that wrote it: AReaL trains on it in that step or a
later one, and does not say which.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing
from rollscope.sources.intake.gather import digest, number, whole

from . import Item, Since
from .jsonl import first

NAMES = ("areal", "areal rollout dump")
OWN = (
    "task_id",
    "sample_idx",
    "seqlen",
    "prompt_len",
    "head_version",
    "tail_version",
    "reward",
    "prompt",
    "completion",
)


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".jsonl":
        return False
    row = first(path)
    return row is not None and {"task_id", "sample_idx", "tail_version", "completion"} <= row.keys()


def rows(path: Path, since: Since) -> Iterator[Item]:
    inside = path.parent.name.lstrip("-").isdecimal() and path.parent.parent.name in ("rollout", "eval-rollout")
    split = "eval" if "eval-rollout" in path.parts else "train"
    place = Place(
        framework="areal",
        folder=path.parents[2] if inside else path.parent,
        name=f"{split}/{path.parent.name}/{path.stem}" if inside else f"{split}/{path.stem}",
        split=split,
    )
    yield from growing(path, since, place, _sample)


def _sample(row: Row, spot: Spot) -> Tables:
    length, prompt = whole(row.get("seqlen")), whole(row.get("prompt_len"))
    response = None if length is None or prompt is None else length - prompt
    step, split = whole(row.get("tail_version")) or 0, spot.place.split
    group = f"{split}/{row.get('task_id')}"
    sample = {
        "id": spot.id,
        "step": max(step, 0),
        "time_ns": spot.time_ns,
        "split": split,
        "group": group,
        "task": digest(str(row.get("prompt") or "")),
        "repeat": whole(row.get("sample_idx")),
        "reward": number(row.get("reward")),
        "prompt": row.get("prompt"),
        "completion": row.get("completion"),
        "prompt_tokens": prompt,
        "completion_tokens": response,
        "response_tokens": response,
        "policy_version_min": whole(row.get("head_version")),
        "policy_version_max": whole(row.get("tail_version")),
        **columns.rest(row, OWN),
    }
    return {"samples": [columns.known(sample)]}
