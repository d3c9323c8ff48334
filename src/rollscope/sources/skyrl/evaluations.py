"""SkyRL's evaluations: samples and numbers in `dumped_evals/global_step_{N}_evals`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources import NO_STEP, Item, Points, Since
from rollscope.sources.dumps import columns
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing
from rollscope.sources.intake.gather import digest
from rollscope.sources.jsonl import first, numbers

FOLDER = re.compile(r"global_step_(\d{1,18})_evals|eval_only")
NUMBERS = "aggregated_results.jsonl"
OWN = ("input_prompt", "output_response", "score", "stop_reason", "env_class", "env_extras", "data_source")


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".jsonl":
        return False
    row = first(path)
    if path.name == NUMBERS:
        return row is not None and FOLDER.fullmatch(path.parent.name) is not None
    return row is not None and {"input_prompt", "output_response", "score"} <= row.keys()


def rows(path: Path, since: Since) -> Iterator[Item]:
    match = FOLDER.fullmatch(path.parent.name)
    step = int(match[1]) if match and match[1] else 0
    folder = path.parent.parent if match else path.parent
    place = Place(
        framework="skyrl",
        folder=folder.parent if folder.name == "dumped_evals" else folder,
        name=f"eval/{step}/{path.stem}",
        step=step,
        split="eval",
        kind="numbers" if path.name == NUMBERS else "rollouts",
        alone=None if match and match[1] else NO_STEP,
    )
    if path.name != NUMBERS:
        yield from growing(path, since, place, _sample)
        return
    for item in numbers(path, since, place.run(path), lambda line: {**line, "step": step}):
        if isinstance(item, Points):
            yield Points(item.names, item.step, item.time_ns, item.values, item.index, split="eval")
        else:
            yield item


def _sample(row: Row, spot: Spot) -> Tables:
    prompt, place, extras = str(row.get("input_prompt") or ""), spot.place, row.get("env_extras")
    task = digest(prompt)
    score = columns.total(row.get("score"))
    sample = {
        "id": spot.id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": "eval",
        "group": f"{place.name}/{task}",
        "task": task,
        "repeat": place.repeats.number(task),
        "env": row.get("env_class"),
        "reward": score,
        "score": score,
        "stop_reason": columns.stop_reason(row.get("stop_reason")),
        "prompt": prompt,
        "completion": row.get("output_response"),
        "answer": _answer(extras),
        "tags": [str(row["data_source"])] if row.get("data_source") else None,
        **columns.rest({**row, "environment": extras}, OWN),
    }
    return {"samples": [columns.known(sample)]}


def _answer(extras: Any) -> str | None:
    spec = extras.get("reward_spec") if isinstance(extras, dict) else None
    truth = spec.get("ground_truth") if isinstance(spec, dict) else None
    return None if truth is None else str(truth)
