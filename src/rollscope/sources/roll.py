"""ROLL's dumps of rollouts: `rollout_dump_dir`.

`rollout_dump_data.step_{N}.jsonl` is one line with a list for each column. Its agentic pipeline
writes trajectories and messages, others prompts, responses and scores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import chat
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing
from rollscope.sources.intake.gather import digest, number, whole
from rollscope.sources.intake.tables import text

from . import Item, Since

NAMES = ("roll", "roll rollout dump")
FILE = re.compile(r"rollout_dump_data\.step_(\d{1,18})\.jsonl")
OWN = ("global_step", "id", "prompt", "messages", "ground_truth", "responses", "scores", "domain", "trajectory_data")


def recognises(path: Path) -> bool:
    return path.is_file() and FILE.fullmatch(path.name) is not None


def rows(path: Path, since: Since) -> Iterator[Item]:
    match = FILE.fullmatch(path.name)
    assert match is not None
    step = int(match[1])
    yield from growing(path, since, Place(framework="roll", folder=path.parent, name=str(step), step=step), _samples)


def _samples(row: Row, spot: Spot) -> Tables:
    """A line holds the columns of all samples."""
    length = max((len(column) for column in row.values() if isinstance(column, list)), default=0)
    listed = {name: column for name, column in row.items() if isinstance(column, list) and len(column) == length}
    if not length:
        raise ValueError("no column of it is a list")
    samples, turns = [], []
    for i in range(length):
        one = {name: column[i] for name, column in listed.items()}
        if (sample := _sample(one, f"{spot.place.name}/{spot.row}/{i}", spot)) is not None:
            samples.append(sample)
            talk = chat(one.get("messages"))
            turns += talk.turns(sample["id"], spot.place.step) if talk else []
    return {"samples": samples, "turns": turns}


def _sample(one: Mapping[str, Any], id: str, spot: Spot) -> dict[str, Any] | None:
    """A sample. Of a trajectory in several rows, only the last has its data."""
    place, talk, path = spot.place, chat(one.get("messages")), _object(one.get("trajectory_data"))
    if talk is None and not path and one.get("responses") is None:
        return None
    prompt = text(one.get("prompt")) or (talk.prompt if talk else None)
    task = digest(str(one.get("id") or prompt or ""))
    ended, reward = path.get("failure_info") or {}, path.get("reward_info") or {}
    spoken = {**talk.columns(), "prompt": prompt} if talk else {"prompt": prompt}
    answered = text(one.get("responses"))
    score = number(one.get("scores"))
    sample = {
        "id": id,
        "step": whole(one.get("global_step")) or place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": f"{place.name}/{task}",
        "task": task,
        "repeat": place.repeats.number(task),
        "env": one.get("domain") or one.get("tag"),
        **spoken,
        **({} if answered is None else {"completion": answered}),
        "answer": text(one.get("ground_truth")),
        "score": score,
        "reward": number(reward.get("episode_reward")) if score is None else score,
        "stop_reason": columns.stop_reason(ended.get("stop_reason")),
        "error": str(ended["failure_mode"]) if ended.get("has_failure") else None,
        **columns.rest({**one, **path}, OWN),
    }
    return columns.known(sample)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
