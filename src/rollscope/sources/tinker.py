"""tinker-cookbook's run folder: rollouts, numbers, times and stored evaluations.

`iteration_{N}/{train,eval_NAME}_rollout_summaries.jsonl` has rewards, lengths and versions of each
rollout, with what its environment logged, but not the text. `{benchmark}/trajectories.jsonl` has
the text of evaluations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import chat
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing
from rollscope.sources.intake.gather import number, whole
from rollscope.sources.intake.tables import ANSWER, COMPLETION, PROMPT, text

from . import NO_STEP, Item, Since
from .jsonl import first, numbers

NAMES = ("tinker", "tinker-cookbook")
SUMMARIES = re.compile(r"(.+)_rollout_summaries\.jsonl")
ITERATION = re.compile(r"iteration_(\d{1,18})")
ROLES = {"environment": "environment", "grader": "environment"}


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".jsonl":
        return False
    if SUMMARIES.fullmatch(path.name):
        return True
    if path.name == "metrics.jsonl":
        return (path.parent / "timing_spans.jsonl").is_file() or (path.parent / "checkpoints.jsonl").is_file()
    row = first(path) if path.name in ("timing_spans.jsonl", "trajectories.jsonl") else None
    return row is not None and ("spans" in row or {"benchmark", "turns", "reward"} <= row.keys())


def rows(path: Path, since: Since) -> Iterator[Item]:
    if path.name == "metrics.jsonl":
        yield from numbers(
            path, since, Place(framework="tinker", folder=path.parent, name="", kind="numbers").run(path)
        )
    elif path.name == "timing_spans.jsonl":
        place = Place(framework="tinker", folder=path.parent, name="spans", kind="spans")
        yield from growing(path, since, place, _spans)
    elif path.name == "trajectories.jsonl":
        name = path.parent.name
        folder = path.parents[1]
        place = Place(framework="tinker", folder=folder, name=f"eval/{name}", split="eval", kind=name, alone=NO_STEP)
        yield from growing(path, since, place, _evaluated)
    else:
        yield from growing(path, since, _place(path), _rollout)


def _place(path: Path) -> Place:
    match, name = ITERATION.fullmatch(path.parent.name), SUMMARIES.fullmatch(path.name)
    assert name is not None
    step = int(match[1]) if match else 0
    split = "train" if name[1] == "train" else "eval"
    folder = path.parents[1] if match else path.parent
    return Place(framework="tinker", folder=folder, name=f"{name[1]}/{step}", step=step, split=split)


def _rollout(row: Row, spot: Spot) -> Tables:
    place = spot.place
    steps = [one for one in row.get("steps") or [] if isinstance(one, Mapping)]
    logged = [one["logs"] for one in steps if isinstance(one.get("logs"), Mapping)]
    logs = {str(name): value for one in logged for name, value in one.items()}
    low = {name.lower(): value for name, value in logs.items()}
    step, version = whole(row.get("iteration")), whole(row.get("sampling_client_step"))
    id = f"{place.name}/{row.get('group_idx')}/{row.get('traj_idx')}"
    lengths = [whole(one.get("ac_len")) or 0 for one in steps]
    sample = {
        "id": id,
        "step": place.step if step is None else step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": f"{place.name}/{row.get('group_idx')}",
        "repeat": whole(row.get("traj_idx")),
        "reward": number(row.get("total_reward")),
        "rewards": columns.known({"final": number(row.get("final_reward"))}) or None,
        "sample_metrics": row.get("trajectory_metrics") or _metrics(steps) or None,
        "turns": len(steps),
        "prompt_tokens": whole(steps[0].get("ob_len")) if steps else None,
        "completion_tokens": sum(lengths),
        "policy_version_min": version,
        "policy_version_max": version,
        "tags": [str(tag) for tag in row.get("tags") or []] or None,
        "prompt": text(_named(low, PROMPT)),
        "completion": text(_named(low, COMPLETION)),
        "answer": text(_named(low, (*ANSWER, "expected"))),
        "extra": logs or None,
    }
    turns = [
        {"sample": id, "turn": i, "step": sample["step"], "role": "assistant", "tokens": tokens}
        for i, tokens in enumerate(lengths)
    ]
    return {"samples": [columns.known(sample)], "turns": turns if len(turns) > 1 else []}


def _metrics(steps: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of the last step that has any: environments score at the end."""
    return next((dict(one["metrics"]) for one in reversed(steps) if one.get("metrics")), {})


def _named(low: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((low[name] for name in names if low.get(name) is not None), None)


def _evaluated(row: Row, spot: Spot) -> Tables:
    turns = [one for one in row.get("turns") or [] if isinstance(one, Mapping)]
    spoken = [
        {**one, "role": ROLES.get(str(one.get("role")), one.get("role")), "tokens": one.get("token_count") or None}
        for one in turns
    ]
    talk, reward = chat(spoken), number(row.get("reward"))
    sample = {
        "id": spot.id,
        "step": spot.place.step,
        "time_ns": spot.time_ns,
        "split": "eval",
        "task": str(row.get("example_id") or row.get("idx")),
        "group": f"{spot.place.name}/{row.get('example_id') or row.get('idx')}",
        "env": row.get("benchmark"),
        "reward": reward,
        "score": reward,
        "sample_metrics": row.get("metrics") or None,
        "generate_seconds": number(row.get("time_seconds")),
        "error": row.get("error"),
        "extra": row.get("logs") or None,
        **(talk.columns() if talk else {}),
    }
    return {"samples": [columns.known(sample)], "turns": talk.turns(spot.id, spot.place.step) if talk else []}


def _spans(row: Row, spot: Spot) -> Tables:
    """The spans of a step. Their times are seconds since the first of them."""
    step, rows, numbered = whole(row.get("step")), [], spot.row << 16
    for i, one in enumerate(row.get("spans") or []):
        start, end = number(one.get("wall_start")), number(one.get("wall_end"))
        if start is None or end is None:
            continue
        began = spot.time_ns + round(start * 1e9)
        times = {"start_ns": began, "end_ns": began + max(0, round((end - start) * 1e9))}
        rows.append({"id": numbered + i, "name": str(one.get("name")), "lane": "trainer/0", "step": step, **times})
    return {"spans": rows}
