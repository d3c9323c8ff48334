"""A small store, recorded once for the room, and a client that talks to the server as a browser on this machine would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create

STEPS = 60


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs: `a` with a gap, NaN, infinities, samples and a hostile name; `b` plain."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        with rs.init(
            project="p",
            name=name,
            id=name,
            config={"lr": 1e-6, "nested": {"k": 2}},
            dir=folder,
            algorithm="grpo",
            steps=100,
            host=False,
            tags=["t"],
        ) as run:
            run.declare(env="e", reward_min=0, reward_max=2)
            for step in range(STEPS):
                metrics = {
                    "reward/mean": 0.5 + step / 100,
                    "policy/entropy": 1.0 - step / 100,
                    "critic/loss": _odd(step),
                    '<b onclick="x">&': float(step),
                    "counter/tokens": float(step * 1000),
                }
                if 20 <= step < 25:
                    del metrics["policy/entropy"]
                run.log(metrics, step=step)
                if step % 10 == 0:
                    run.log({"eval/gsm8k/score/mean@4": step / 100}, step=step)
                run.log_samples(
                    step=step,
                    samples=[
                        {
                            "id": f"{step}.{i}",
                            "group": f"g{i % 2}",
                            "reward": float(i % 3),
                            "prompt": "2+2?",
                            "completion": "<script>4</script>",
                            "completion_tokens": 5 + i,
                        }
                        for i in range(4)
                    ],
                )
                run.commit(step)
    return folder


def _odd(step: int) -> float:
    return {7: math.nan, 8: math.inf, 9: -math.inf}.get(step, 1.0)


@pytest.fixture
def client(store: Path) -> Iterator[TestClient]:
    with TestClient(create(str(store)), base_url="http://127.0.0.1") as client:
        yield client
