"""One small run of each kind, recorded once for every row of the tables."""

from __future__ import annotations

import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.trainer import config
from rollscope.trainer.train import train

SORTING = {"name": "sorting", "train_tasks": 60, "options": {"length": 3, "letters": "abcdef", "skill": 0.5}}
TOOLS = {"name": "calculator", "train_tasks": 60, "weight": 1.0, "options": {"digits": 1, "skill": 0.9}}
COMMON: dict[str, Any] = {
    "environment": SORTING,
    "model": {"width": 32, "layers": 2, "heads": 4, "context": 64},
    "warmup": {"steps": 40, "batch": 32, "lr": 8e-3},
    "rollout": {"groups_per_step": 6, "repeats": 4, "max_completion_tokens": 20},
    "evaluation": {"every": 2, "tasks": 4, "repeats": 2},
    "run": {"steps": 3, "peak_tflops": 0.1},
}
MIXED = {key: value for key, value in COMMON.items() if key != "environment"} | {"environments": [SORTING, TOOLS]}
CASES: dict[str, dict[str, Any]] = {
    "grpo": MIXED
    | {
        "algorithm": {"name": "grpo", "kl_coef": 0.01, "entropy_coef": 0.01, "clip_low": 0.02, "clip_high": 0.02},
        "warmup": {"steps": 150, "batch": 32, "lr": 8e-3},  # enough to call a tool
        "evaluation": COMMON["evaluation"] | {"detailed": True},
        "run": COMMON["run"] | {"sinks": ["jsonl"]},
    },
    "ppo": COMMON
    | {
        "algorithm": {"name": "ppo", "kl_coef": 0.05, "kl_in": "reward", "kl_estimator": "k1", "epochs": 2},
        "evaluation": COMMON["evaluation"] | {"prefix": "val"},
    },
    "dpo": COMMON
    | {
        "algorithm": {"name": "dpo"},
        "evaluation": COMMON["evaluation"]
        | {"sets": [{"detailed": True}, {"name": "sorting-bench", "prefix": "bench", "seed": 1}]},
    },
    "reward_model": COMMON | {"algorithm": {"name": "reward_model"}},
    "embodied": COMMON
    | {"environment": {"name": "gym", "options": {"envs": 8}}, "algorithm": {"name": "ppo", "gamma": 0.97}},
}


class Recorded:
    """The runs, and what each name is worth in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids = {name: train(config.build(case), dir=folder) for name, case in CASES.items()}
        self.runs = {name: rs.open(folder).run(id) for name, id in self.ids.items()}
        self._renamed: dict[str, dict[str, float]] = {}

    @cached_property
    def last(self) -> dict[str, dict[str, float]]:
        """Run -> name -> last value."""
        listed = {name: run.metrics() for name, run in self.runs.items()}
        return {
            name: dict(zip(map(str, metrics["name"]), map(float, metrics["last"]), strict=True))
            for name, metrics in listed.items()
        }

    @cached_property
    def finite(self) -> dict[str, float]:
        """Our names with a finite value in some run."""
        return {name: x for values in self.last.values() for name, x in values.items() if math.isfinite(x)}

    def renamed(self, dialect: str) -> dict[str, float]:
        """A framework's names with a finite value in some run."""
        if dialect not in self._renamed:
            found = [rs.rename(values, dialect).items() for values in self.last.values()]
            self._renamed[dialect] = {name: x for some in found for name, x in some if math.isfinite(x)}
        return self._renamed[dialect]

    def jsonl(self) -> str:
        """What the jsonl sink of the GRPO run was given."""
        paths = (self.folder / self.ids["grpo"]).rglob("*.jsonl")
        return json.dumps([json.loads(line) for path in paths for line in path.read_text().splitlines()])


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("guides"))
