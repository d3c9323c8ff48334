"""The last part of the Overview: where a step's time goes, and the facts of the configuration worth a line."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from rollscope.server.runs import _short
from rollscope.server.shapes import TimePart
from rollscope.store.run import Run
from rollscope.views.dictionary import by_our_names

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


def time_parts(run: Run, step: int | None) -> tuple[int | None, list[TimePart]]:
    """Seconds of one step by what they went to: from its spans, else from its time metrics."""
    spans = run.spans()
    if len(spans["step"]):
        steps = np.array([-1 if s is None or s != s else int(s) for s in spans["step"]])
        done = int(run.record().get("step") or 0)  # later spans belong to a step that is not finished
        at = step if step is not None and (steps == step).any() else _usual(spans, steps, done)
        parts = _from_spans(spans, steps == at)
        if parts:
            return at, parts
    return _from_metrics(run, step)


def _usual(spans: Any, steps: Any, done: int) -> int:
    """The newest finished step that took its usual time: the last one of a run may hold no more than the final evaluation."""
    recent = np.unique(steps[(steps >= 0) & (steps <= done)])[-10:]
    if not len(recent):
        return -1
    length = np.asarray(spans["end_ns"], np.float64) - np.asarray(spans["start_ns"], np.float64)
    busy = np.array([length[steps == s].sum() for s in recent])
    return int(recent[busy >= np.median(busy) / 2].max())


def _from_spans(spans: Any, mine: Any) -> list[TimePart]:
    """The lanes of the trainer, outermost spans only, or every lane where there is no trainer."""
    lanes = np.array([str(lane or "") for lane in spans["lane"]])
    trainer = mine & np.char.startswith(lanes, "trainer")
    pick = np.flatnonzero(trainer if trainer.any() else mine)
    first = min((lanes[i] for i in pick), default="")
    total: dict[tuple[str, bool], float] = defaultdict(float)
    end = -1
    for i in sorted((i for i in pick if lanes[i] == first), key=lambda i: (int(spans["start_ns"][i]), -int(spans["end_ns"][i]))):
        if int(spans["start_ns"][i]) < end:
            continue  # inside another one, which has its time already
        end = int(spans["end_ns"][i])
        total[(str(spans["name"][i]), spans["kind"][i] == "wait")] += (end - int(spans["start_ns"][i])) / 1e9
    return _largest(total)


def _from_metrics(run: Run, step: int | None) -> tuple[int | None, list[TimePart]]:
    ours = by_our_names(run.folder.names(), run.facts.get("framework"))
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
