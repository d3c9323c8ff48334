"""ART's model folder: `trajectories/{split}/{step}.parquet` and `history.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Since
from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import Chat
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, table
from rollscope.sources.files import columnar
from rollscope.sources.intake.gather import digest, number, whole
from rollscope.sources.jsonl import first, numbers


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.name == "history.jsonl":
        row = first(path)
        return row is not None and {"training_step", "recorded_at"} <= row.keys()
    return path.suffix == ".parquet" and {"group_index", "reward", "messages"} <= columnar.columns(path)


def rows(path: Path, since: Since) -> Iterator[Item]:
    if path.name == "history.jsonl":
        place = Place(framework="art", folder=path.parent, name="", kind="numbers")
        yield from numbers(path, since, place.run(path), _timed)
        return
    step, split = int(path.stem) if path.stem.isdecimal() and len(path.stem) < 19 else 0, path.parent.name
    inside = path.parent.parent.name == "trajectories"
    place = Place(
        framework="art",
        folder=path.parents[2] if inside else path.parent,
        name=f"{split}/{path.stem}",
        step=step,
        split="train" if split == "train" or not inside else "eval",
    )
    yield from table(path, since, place, _sample)


def _timed(line: dict[str, Any]) -> dict[str, Any]:
    """The line with its time under the usual name."""
    return {"timestamp": line.get("recorded_at"), **{key: line[key] for key in line if key != "recorded_at"}}


def _sample(row: Row, spot: Spot) -> Tables:
    place, messages = spot.place, [one for one in row.get("messages") or [] if isinstance(one, dict)]
    first_answer = next((i for i, one in enumerate(messages) if one.get("trainable")), len(messages))
    talk = Chat([columns.known(one) for one in messages], first_answer)
    group, metrics, metadata = row.get("group_index"), _object(row.get("metrics")), _object(row.get("metadata"))
    sample = {
        "id": spot.id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": f"{place.name}/{group}",
        "repeat": place.repeats.number(str(group)),
        "task": digest(talk.prompt or ""),
        "reward": number(row.get("reward")),
        "sample_metrics": columns.parts(metrics) or None,
        "extra": columns.known({**metadata, "logs": row.get("logs")}) or None,
        "policy_version_min": whole(metadata.get("initial_policy_version")),
        "policy_version_max": whole(metadata.get("final_policy_version")),
        **talk.columns(),
    }
    return {"samples": [columns.known(sample)], "turns": talk.turns(spot.id, place.step)}


def _object(value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
