"""rLLM's episodes: `episodes/{train,val}_step_{N}_epoch_{E}/episode_*.json`, one file each.

Each trajectory of an episode is a sample; the trajectories of one name and task are a group.
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
from rollscope.sources.dumps.stream import Row, Tables, once
from rollscope.sources.intake.gather import number
from rollscope.sources.intake.tables import text

from . import Item, Since, SourceError

NAMES = ("rllm", "rllm episode")
FILE = re.compile(r"episode_hash\w+_id.+\.json")
FOLDER = re.compile(r"(train|val)_step_(\d{1,18})_epoch_(\d+)")


def recognises(path: Path) -> bool:
    return path.is_file() and FILE.fullmatch(path.name) is not None


def rows(path: Path, since: Since) -> Iterator[Item]:
    match = FOLDER.fullmatch(path.parent.name)
    above = path.parents[1] if match else path.parent
    place = Place(
        framework="rllm",
        folder=above.parent if above.name == "episodes" else above,
        name=f"{path.parent.name}/{path.stem}",
        step=int(match[2]) if match else 0,
        split="eval" if match and match[1] == "val" else "train",
    )
    yield from once(path, since, place, _episode(path), _samples)


def _episode(path: Path) -> Iterator[Row]:
    try:
        episode = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not a complete JSON file: {error}") from error
    if not isinstance(episode, dict) or not isinstance(episode.get("trajectories"), list):
        raise SourceError("expected an episode with 'trajectories'")
    yield episode


def _samples(row: Row, spot: Spot) -> Tables:
    samples, turns = [], []
    for i, one in enumerate(row["trajectories"]):
        if isinstance(one, Mapping):
            sample, said = _sample(one, row, f"{spot.place.name}/{i}", spot)
            samples.append(sample)
            turns += said
    return {"samples": samples, "turns": turns}


def _sample(one: Row, episode: Row, id: str, spot: Spot) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    place, task, name = spot.place, str(episode.get("task_hash")), str(one.get("name") or "agent")
    steps = [step for step in one.get("steps") or [] if isinstance(step, Mapping)]
    talk = next((found for step in reversed(steps) if (found := chat(step.get("chat_completions")))), None)
    spoken = talk.columns() if talk else _shown(steps)
    rewards = {f"step {i}": value for i, step in enumerate(steps) if (value := number(step.get("reward"))) is not None}
    sample = {
        "id": id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "task": task,
        "group": f"{place.split}/{place.step}/{task}/{name}",
        "reward": number(one.get("reward")),
        "rewards": rewards if any(rewards.values()) else None,
        "score": None if episode.get("is_correct") is None else float(bool(episode["is_correct"])),
        "sample_metrics": columns.parts(episode.get("metrics")) or None,
        "stop_reason": columns.stop_reason(episode.get("termination_reason")),
        "answer": _answer(episode.get("task")),
        "tags": [name],
        "extra": columns.known({"episode": episode.get("episode_id"), "epoch": episode.get("epoch")}) or None,
        **spoken,
        "turns": len(steps),
    }
    return columns.known(sample), talk.turns(id, place.step) if talk else []


def _shown(steps: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Prompt and completion of steps without a chat."""
    said = [str(step["model_response"]) for step in steps if step.get("model_response")]
    asked = text(steps[0].get("observation")) if steps else None
    return {"prompt": asked, "completion": "\n".join(said) if said else None}


def _answer(task: Any) -> str | None:
    truth = task.get("ground_truth", task.get("answer")) if isinstance(task, Mapping) else None
    return None if truth is None else str(truth)
