"""Two small stores, recorded once, and clients that ask as a browser on this machine would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.server.routes.run import findings
from tests.web.rollout_runs import record

STEPS = 60


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings are waited for, however busy the machine is."""
    monkeypatch.setattr(findings, "WAIT", 120.0)


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
                run.log(_metrics(step), step=step)
                run.log_samples(step=step, samples=[_sample(step, i) for i in range(4)])
                run.commit(step)
    return folder


def _metrics(step: int) -> dict[str, float]:
    metrics = {
        "reward/mean": 0.5 + step / 100,
        "critic/loss": _odd(step),
        '<b onclick="x">&': float(step),
        "counter/tokens": float(step * 1000),
    }
    if not 20 <= step < 25:
        metrics["policy/entropy"] = 1.0 - step / 100
    if step % 10 == 0:
        metrics["eval/gsm8k/score/mean@4"] = step / 100
    return metrics


def _sample(step: int, i: int) -> dict[str, object]:
    return {
        "id": f"{step}.{i}",
        "group": f"g{i % 2}",
        "reward": float(i % 3),
        "prompt": "2+2?",
        "completion": "<script>4</script>",
        "completion_tokens": 5 + i,
    }


def _odd(step: int) -> float:
    return {7: math.nan, 8: math.inf, 9: -math.inf}.get(step, 1.0)


@pytest.fixture
def client(store: Path) -> Iterator[TestClient]:
    with TestClient(create(str(store)), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture(scope="session")
def rolls_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the run `rolls`: groups, tools, evaluations, media and hostile text."""
    folder = tmp_path_factory.mktemp("rolls")
    record(folder)
    return folder


@pytest.fixture(scope="module")
def rolls(rolls_folder: Path) -> Iterator[TestClient]:
    with TestClient(create(str(rolls_folder)), base_url="http://127.0.0.1") as client:
        yield client
