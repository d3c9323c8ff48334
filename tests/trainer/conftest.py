"""One short run of each algorithm, trained once for all tests that read it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.trainer import config
from rollscope.trainer.train import train

SMALL: dict[str, Any] = {
    "environment": {"name": "sorting", "train_tasks": 100, "options": {"length": 3, "letters": "abcdef", "skill": 0.5}},
    "model": {"width": 32, "layers": 2, "heads": 4, "context": 32},
    "warmup": {"steps": 40, "batch": 32},
    "rollout": {"groups_per_step": 6, "repeats": 4, "max_completion_tokens": 6},
    "evaluation": {"every": 3, "tasks": 6, "repeats": 2},
    "run": {"steps": 6},
}


def table(**sections: dict[str, Any]) -> dict[str, Any]:
    """The small configuration with some of its sections changed."""
    out = {name: dict(section) for name, section in SMALL.items()}
    for name, section in sections.items():
        out[name] = out.get(name, {}) | section
    environment = sections.get("environment", {})
    if "options" in environment or environment.get("name", "sorting") != "sorting":
        out["environment"]["options"] = environment.get("options", {})
    return out


CLIPS = {"clip_low": 0.02, "clip_high": 0.02, "clip_c": 3.0, "importance_cap": 2.0}
CASES = {
    "grpo": table(algorithm={"name": "grpo", "kl_coef": 0.01, "entropy_coef": 0.01, **CLIPS}),
    "ppo": table(
        algorithm={"name": "ppo", "kl_coef": 0.05, "kl_in": "reward", "kl_estimator": "k1", "epochs": 2},
        evaluation={"prefix": "val"},
    ),
    "dpo": table(algorithm={"name": "dpo"}, rollout={"groups_per_step": 16}),
    "reward_model": table(algorithm={"name": "reward_model"}, rollout={"groups_per_step": 16}),
    "embodied": table(
        environment={"name": "gym", "options": {"envs": 8}},
        algorithm={"name": "ppo", "epochs": 2, "gamma": 0.97},
    ),
    "tools": table(
        environment={"name": "calculator", "options": {"digits": 1}},
        model={"context": 64},
        warmup={"steps": 130, "lr": 8e-3},
        run={"steps": 2},
        rollout={"max_completion_tokens": 30, "discard_group_zero_advantage": False},
    ),
}


@dataclass
class Trained:
    """A finished run, open for reading."""

    reader: Any

    @cached_property
    def last(self) -> dict[str, float]:
        metrics = self.reader.metrics()
        return dict(zip(map(str, metrics["name"]), map(float, metrics["last"]), strict=True))

    @property
    def finite(self) -> dict[str, float]:
        return {name: value for name, value in self.last.items() if math.isfinite(value)}

    def values(self, name: str) -> dict[int, float]:
        series = self.reader.series(name)
        return dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))


def trained(table: dict[str, Any], folder: Path, **more: Any) -> Trained:
    id = train(config.build(table), dir=folder, **more)
    return Trained(rs.open(folder).run(id))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    folder = tmp_path_factory.mktemp("runs")
    return {name: trained(case, folder) for name, case in CASES.items()}
