"""Trainings that differ in nothing but their seed, for bench/alarms.py: what each task scored.

`python bench/repeats.py FOLDER FILE` trains what is not in the folder yet, a few seconds each, and
writes the scores of the last evaluation to an .npz file: seeds by tasks by repeats.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEEDS, TASKS, REPEATS, STEPS = 12, 100, 8, 24
SET = "sorting-eval"


def table(seed: int) -> dict[str, Any]:
    """The configuration of one training: it has learnt about half of the task at its end."""
    return {
        "run": {"project": "repeats", "name": f"seed-{seed}", "steps": STEPS, "seed": seed, "device": "cpu"},
        "environment": {"name": "sorting", "options": {"length": 4, "letters": "abcdef"}},
        "model": {"context": 32},
        "warmup": {"steps": 120},
        "algorithm": {"name": "grpo"},
        "optimiser": {"lr": 5e-4},
        "rollout": {"groups_per_step": 16, "repeats": 4, "max_completion_tokens": 8},
        "evaluation": {"every": STEPS, "tasks": TASKS, "repeats": REPEATS},
        "checkpoint": {"every": 0},
    }


def scores(folder: Path, seeds: int = SEEDS) -> NDArray[np.float64]:
    """The accuracy of every repeat after the last step: seeds by tasks by repeats."""
    return np.stack([kept(folder, seed) for seed in range(seeds)]).astype(np.float64)


def kept(folder: Path, seed: int) -> NDArray[np.uint8]:
    """The scores of one seed: tasks by repeats. Trained if they are not there yet."""
    file = folder / f"seed-{seed}.npy"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(file, trained(folder / "runs", seed))
    found: NDArray[np.uint8] = np.load(file)
    return found


def trained(folder: Path, seed: int) -> NDArray[np.uint8]:
    """Train one seed; tasks by repeats."""
    import rollscope as rs
    from rollscope.trainer.config import build
    from rollscope.trainer.train import train
    from rollscope.views.evals.sets import sets

    train(build(table(seed)), str(folder), None)
    id = next(str(run["id"]) for run in rs.open(folder).runs() if run["name"] == f"seed-{seed}")
    evals = sets(rs.open(folder).run(id))[SET]
    last = evals.at == len(evals.steps) - 1
    found = np.zeros((len(evals.tasks), REPEATS), np.uint8)
    found[evals.task[last], evals.repeat[last]] = evals.values["acc"][last]
    return found


if __name__ == "__main__":
    np.savez_compressed(sys.argv[2], scores=scores(Path(sys.argv[1])).astype(np.uint8))
