"""The last part of the Overview: where a step's time goes, and the facts of the configuration worth a line."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from rollscope.server.shapes import TimePart
from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.views.dictionary import by_our_names

from .runs import _short

WORTH = (
    "model",
    "lr",
    "learning_rate",
    "batch",
    "group_size",
    "num_generations",
    "rollout",
    "kl",
    "beta",
    "clip",
    "temperature",
    "max_",
    "seed",
    "env",
    "dataset",
    "data",
    "gpus",
    "steps",
    "epochs",
    "optim",
)
TOTALS = ("time/step", "time/active", "time/total", "time/testing", "time/update_weights")
FACTS = 14
RECENT = 12  # steps that are looked at for a usual one


def time_parts(run: Run, step: int | None) -> tuple[int | None, list[TimePart]]:
    """Seconds of one step by what they went to: from its spans, else from its time metrics."""
    done = int(run.record().get("step") or 0)  # later spans belong to a step that is not finished
    near = [*range(max(0, done - RECENT + 1), done + 1), *([] if step is None else [step])]
    if run.has("spans"):
        lane = _lane(arrow.numpy(run.rows_of_steps("spans", near), tables.types("spans")))
        at = step if step in lane else _usual(lane)
        if at is not None:
            return at, _largest(_outermost(lane[at]))
    return _from_metrics(run, step)


Span = tuple[int, int, str, bool]  # start, end, name, is it waiting


def _lane(spans: Any) -> dict[int, list[Span]]:
    """The spans of the trainer's first lane, or of the first there is, by step and in order: an outer one before what is inside it."""
    names = sorted({str(lane or "") for lane in spans["lane"]}, key=lambda lane: (not lane.startswith("trainer"), lane))
    found: dict[int, list[Span]] = defaultdict(list)
    for i, lane in enumerate(spans["lane"]):
        step = spans["step"][i]
        if str(lane or "") == names[0] and step is not None and step == step:
            found[int(step)].append(
                (int(spans["start_ns"][i]), int(spans["end_ns"][i]), str(spans["name"][i]), spans["kind"][i] == "wait")
            )
    return {step: sorted(rows, key=lambda s: (s[0], -s[1])) for step, rows in found.items()}


def _usual(lane: dict[int, list[Span]]) -> int | None:
    """The newest step that did what most of them do: the last one of a run may hold no more than the final evaluation."""
    did = {step: {name for _, _, name, _ in rows} for step, rows in lane.items()}
    common = {
        name for names in did.values() for name in names if 2 * sum(name in other for other in did.values()) > len(did)
    }
    return max((step for step, names in did.items() if common <= names), default=max(did, default=None))


def _outermost(rows: list[Span]) -> dict[tuple[str, bool], float]:
    total: dict[tuple[str, bool], float] = defaultdict(float)
    free = -1
    for start, end, name, wait in rows:
        if start < free:
            continue  # inside another one, which has its time already
        free = end
        total[(name, wait)] += (end - start) / 1e9
    return total


def _from_metrics(run: Run, step: int | None) -> tuple[int | None, list[TimePart]]:
    ours = by_our_names(run.stored_names(), run.facts.get("framework"))
    total: dict[tuple[str, bool], float] = {}
    at = step
    for name, m in ours.items():
        if not name.startswith("time/") or name.count("/") != 1 or name in TOTALS:
            continue
        found = run.series(m.logged)
        pick = np.flatnonzero(found["step"] == step) if step is not None else np.arange(len(found["step"]))[-1:]
        if len(pick) and np.isfinite(found["value"][pick[-1]]):
            word = name.removeprefix("time/")
            total[(word.replace("_", " "), "wait" in word)] = float(found["value"][pick[-1]]) / m.scale
            at = int(found["step"][pick[-1]])
    return (at, _largest(total)) if total else (None, [])


def _largest(total: dict[tuple[str, bool], float]) -> list[TimePart]:
    parts = [TimePart(name=name, seconds=seconds, wait=wait) for (name, wait), seconds in total.items() if seconds > 0]
    return sorted(parts, key=lambda p: -p["seconds"])[:10]


def facts(run: Run) -> list[list[str]]:
    """Configuration keys worth a line, then where it ran."""
    flat = _short(run.config)
    ranked = sorted(flat, key=lambda k: (next((i for i, w in enumerate(WORTH) if w in k.lower()), len(WORTH)), k))
    found = [[k, _text(flat[k])] for k in ranked[:FACTS] if flat[k] is not None]
    environment = run.facts.get("environment") or {}
    for key in ("host", "hostname", "gpu", "gpus", "python", "command"):
        if isinstance(environment.get(key), str | int | float):
            found.append([key, _text(environment[key])])
    git = environment.get("git")
    if isinstance(git, dict) and git.get("commit"):
        found.append(["commit", str(git["commit"])[:10] + (" with changes" if git.get("dirty") else "")])
    return found


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:120]
