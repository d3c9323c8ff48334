"""The runs of our trainer that bench/doctor.py diagnoses: each failure, seed and strength.

`python bench/doctor_trainings.py FOLDER SEEDS [WORKERS] [DEVICE]` trains what is not there yet. It
needs numpy and torch alone, so it can run on a machine with a GPU, and the folder be carried home.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

STEPS = 80
STRENGTHS = (0.5, 1.0, 2.0)
STARTS = (10, 20, 30)  # of a failure that has no size: three moments in place of three strengths
SIZED = {
    *("learning_rate_too_high", "entropy_collapse", "length_hack", "noisy_reward", "stale_rollouts"),
    *("truncation", "sampler_mismatch", "exploding_kl", "slow_worker"),
}
FROM_THE_START = {"learning_rate_too_high", "entropy_collapse", "truncation", "exploding_kl", "stale_rollouts"}
FAILURES = (
    *("learning_rate_too_high", "entropy_collapse", "length_hack", "constant_reward", "noisy_reward", "dead_reward"),
    *("stale_rollouts", "truncation", "sampler_mismatch", "exploding_kl", "slow_worker", "worker_crash"),
    *("tool_failure_loop", "eval_leak", "dead_critic", "nan_loss"),
)
HEALTHY = ("grpo", "rloo", "ppo", "async")


@dataclass(frozen=True, slots=True)
class Training:
    """One run: what is wrong with it (or which healthy kind it is), the seed, and how strong."""

    fault: str
    seed: int
    strength: float = 1.0
    start: int = 0

    @property
    def name(self) -> str:
        return f"{self.fault}-{self.seed}-{self.strength:g}-{self.start}"

    def table(self) -> dict[str, Any]:
        """The configuration."""
        kind = self.fault if self.fault in HEALTHY else "grpo"
        if self.fault in ("slow_worker", "worker_crash", "stale_rollouts"):
            kind = "async"
        table = _base("ppo" if self.fault == "dead_critic" else kind)
        table["run"] |= {"seed": self.seed, "name": self.name}
        if self.fault == "tool_failure_loop":
            table |= _tools()
        if self.fault not in HEALTHY:
            table["failure"] = {"name": self.fault, "start": self.start, "strength": self.strength}
        return table


def _base(kind: str) -> dict[str, Any]:
    ppo = kind == "ppo"
    algorithm: dict[str, Any] = {"name": "grpo", "clip_high": 0.28, "kl_coef": 0.002, "entropy_coef": 0.02}
    if ppo:
        algorithm = {"name": "ppo", "epochs": 2, "minibatches": 2, "kl_coef": 0.02, "kl_in": "reward"}
    if kind == "rloo":
        algorithm["advantage"] = "rloo"
    rollout: dict[str, Any] = {"groups_per_step": 8, "repeats": 8, "max_completion_tokens": 10}
    if kind == "async":
        rollout |= {"workers": 2, "groups_per_request": 2, "max_async": 2}
    if ppo:  # the policy learns this task within the steps; the critic explains nothing of it
        return _sorting() | {"algorithm": algorithm}
    return {
        "run": {"project": "bench", "steps": STEPS, "seconds": 900.0},
        "environment": {"name": "countdown", "options": {"numbers": 3, "largest": 9, "skill": 0.5}},
        "model": {"context": 32},
        "warmup": {"steps": 300},
        "algorithm": algorithm,
        "optimiser": {"lr": 6e-4},
        "rollout": rollout,
        "evaluation": {"every": 5, "tasks": 24, "repeats": 2},
    }


def _sorting() -> dict[str, Any]:
    return {
        "run": {"project": "bench", "steps": STEPS, "seconds": 900.0},
        "environment": {"name": "sorting", "options": {"length": 4, "letters": "abcdef"}},
        "model": {"context": 32},
        "warmup": {"steps": 200},
        "optimiser": {"lr": 5e-4, "critic_lr": 1e-3},
        "rollout": {"groups_per_step": 32, "repeats": 4, "max_completion_tokens": 8},
        "evaluation": {"every": 5, "tasks": 24, "repeats": 2},
    }


def _tools() -> dict[str, Any]:
    return {
        "environment": {"name": "calculator", "options": {"digits": 2, "skill": 0.7}},
        "model": {"context": 96},
        "rollout": {"groups_per_step": 8, "repeats": 8, "max_completion_tokens": 40},
        "evaluation": {"every": 20, "tasks": 12, "repeats": 2},
    }


def trainings(seeds: list[int]) -> Iterator[Training]:
    """Every failure in three strengths, or at three moments, and every healthy kind."""
    for seed in seeds:
        yield from (Training(kind, seed) for kind in HEALTHY)
        for fault in FAILURES:
            for strength, start in zip(STRENGTHS, STARTS, strict=True):
                first = 0 if fault in FROM_THE_START else 20
                yield Training(fault, seed, strength, first) if fault in SIZED else Training(fault, seed, 1.0, start)


def train(training: Training, folder: str, device: str) -> str:
    """Train one run, unless its mark says that it is there. A run that crashes is as it should."""
    mark = Path(folder, f"{training.name}.done")
    if mark.exists():
        return ""
    from rollscope.trainer.config import build
    from rollscope.trainer.train import train as run

    try:
        table = training.table()
        table["run"]["device"] = device
        run(build(table), folder, None)
        ended = "finished"
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"
    mark.write_text(ended)
    return f"{training.name}: {ended[:100]}"


def main() -> None:
    folder, seeds = sys.argv[1], [int(word) for word in sys.argv[2].split(",")]
    workers = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    device = sys.argv[4] if len(sys.argv) > 4 else "cpu"
    os.environ.update(OMP_NUM_THREADS="1")
    Path(folder).mkdir(parents=True, exist_ok=True)
    wanted = [*trainings(seeds)]
    with ProcessPoolExecutor(workers, max_tasks_per_child=1) as pool:
        for i, said in enumerate(pool.map(partial(train, folder=folder, device=device), wanted)):
            if said:
                print(f"{i + 1}/{len(wanted)} {said}", flush=True)


if __name__ == "__main__":
    main()
