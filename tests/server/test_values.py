"""Stored values at a step, and the samples behind a metric."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    with rs.init(project="p", name="r", id="r", dir=tmp_path, host=False) as run:
        for step in range(3000):
            run.log({"reward/mean": step / 7}, step=step)
        run.log({"policy/entropy": float("nan")}, step=10)
        trained = [{"id": f"t{i}", "reward": 0.5, "split": "train"} for i in range(8)]
        other = [{"id": f"o{i}", "reward": 0.5, "split": "eval"} for i in range(3)]
        scored = [{"id": f"e{i}", "reward": 0.5, "split": "eval"} for i in range(5)]
        run.log_samples(step=10, samples=[*trained, *scored, *other])
        rows = [{"task": f"k{i}", "repeat": 0, "scores": {"acc": 1.0}, "sample": f"e{i}"} for i in range(5)]
        run.log_eval("set", rows, step=10)
    return TestClient(create(str(tmp_path)), base_url="http://127.0.0.1")


def test_a_value_is_the_one_stored_at_the_step(client: TestClient) -> None:
    names = ["reward/mean", "policy/entropy", "eval/set/acc/mean@1", "no such name"]
    for step in (0, 10, 1234, 2999):
        found = client.post("/api/values", json={"runs": ["r"], "names": names, "step": step}).json()["runs"]["r"]
        assert found["reward/mean"] == step / 7
        assert ("policy/entropy" in found) == ("eval/set/acc/mean@1" in found) == (step == 10)
    ten = client.post("/api/values", json={"runs": ["r"], "names": names, "step": 10}).json()["runs"]["r"]
    assert ten["policy/entropy"] == "NaN" and ten["eval/set/acc/mean@1"] == 1.0


def test_samples_behind_an_evaluation_are_its_own(client: TestClient) -> None:
    def ids(metric: str) -> set[str]:
        reply = client.get("/api/runs/r/samples", params={"step": 10, "metric": metric}).json()
        assert reply["total"] == len(reply["samples"])
        return {sample["id"] for sample in reply["samples"]}

    assert ids("eval/set/acc/mean@1") == {f"e{i}" for i in range(5)}
    assert ids("reward/mean") == {f"t{i}" for i in range(8)}
    assert len(ids("")) == 16


def test_the_samples_of_the_overview_are_those_of_training(client: TestClient) -> None:
    picked = client.get("/api/runs/r/overview?step=10").json()["samples"]
    assert {sample["sample"]["id"][0] for sample in picked} == {"t"}


def test_a_step_that_no_double_can_tell_from_its_neighbours_has_no_value(client: TestClient) -> None:
    for step in (2**53, -(2**53), 2**52 + 1):
        reply = client.post("/api/values", json={"runs": ["r"], "names": ["reward/mean"], "step": step})
        assert reply.json()["runs"]["r"] == {}
