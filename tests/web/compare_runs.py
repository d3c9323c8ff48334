"""A project to compare: six configurations of three seeds, of which one change matters.

`python tests/web/compare_runs.py FOLDER` records it. `hi` clips higher: entropy parts at step 40,
and tasks 20 to 29 are solved that `base` cannot solve. The other changes do nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs

STEPS, TASKS, SEEDS, EVERY = 120, 60, 3, 20
BASE: dict[str, Any] = {"lr": 1e-6, "clip_eps_high": 0.2, "kl_coef": 1e-3, "group_size": 8, "mask_truncated": False}
CONFIGS: dict[str, dict[str, Any]] = {
    "base": {},
    "hi": {"clip_eps_high": 0.28},
    "fast": {"lr": 2e-6},
    "wide": {"group_size": 16},
    "free": {"kl_coef": 0.0},
    "hi-masked": {"clip_eps_high": 0.28, "mask_truncated": True},
}


def record(folder: Path) -> None:
    for name in CONFIGS:
        for seed in range(SEEDS):
            _run(folder, name, seed)


def _run(folder: Path, name: str, seed: int) -> None:
    random = np.random.default_rng([seed, *map(ord, name)])
    config = {**BASE, **CONFIGS[name], "seed": seed}
    high = config["clip_eps_high"] > 0.2
    luck = random.normal(0, 0.008)
    with rs.init(
        id=f"{name}-{seed}", project="math", dir=folder, config=config, algorithm="grpo", steps=STEPS, host=False
    ) as run:
        for step in range(STEPS + 1):
            run.log(_metrics(step, high, luck, random), step=step)
            run.commit(step, tokens=step * 10_000 * (2 if name == "wide" else 1), samples=step * 64)
            if step % EVERY == 0:
                run.log_eval("gsm8k", [_row(task, step, high, random) for task in range(TASKS)], step=step)


def _metrics(step: int, high: bool, luck: float, random: np.random.Generator) -> dict[str, float]:
    late = max(0, step - 40) / 80
    return {
        "reward/mean": 0.3 + 0.3 * step / STEPS + luck + (0.05 * late if high else 0) + random.normal(0, 0.006),
        "policy/entropy": 0.5 - 0.3 * min(step, 60) / 60 + (0.2 * late if high else 0) + random.normal(0, 0.005),
        "policy/kl_k3": 0.00004 * step * (1 + 3 * late * high) + abs(random.normal(0, 0.0001)),
        "length/completion/mean": 300 + 50 * late * high + random.normal(0, 4),
        "perf/tokens_per_second": 13_000 + random.normal(0, 90),
    }


def _row(task: int, step: int, high: bool, random: np.random.Generator) -> dict[str, Any]:
    """Tasks below 20 are learnt by all, 20 to 29 by the high clip alone, the rest by nobody."""
    able = task < 20 * step / STEPS or (high and 20 <= task < 30 and step >= 60)
    right = float(able if random.random() > 0.02 else not able)
    sample = {"prompt": f"What is {task} + 7?", "completion": f"I add them: {task + 7 if right else task}."}
    return {"task": f"{task:04d}", "repeat": 0, "scores": {"correct": right}, "answer": str(right), "sample": sample}


if __name__ == "__main__":
    record(Path(sys.argv[1]))
