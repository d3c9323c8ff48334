"""Runs compared over HTTP: the sentence, what differs, curves, factors, the same tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server import packed
from rollscope.server.app import create
from tests.web.compare_runs import record

ASKED = "run=base-0&run=hi-0"
NAME = "custom/loss"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("math")
    record(folder)
    with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
        yield client


def asked(client: TestClient, path: str) -> Any:
    reply = client.get(f"/api/{path}")
    assert reply.is_success, reply.text
    return reply.json()


def test_the_better_one_is_named_over_the_seeds_that_were_found(client: TestClient) -> None:
    found = asked(client, f"compare?{ASKED}")
    assert [sorted(group["runs"]) for group in found["groups"]] == [
        ["base-0", "base-1", "base-2"],
        ["hi-0", "hi-1", "hi-2"],
    ]
    assert found["groups"][0]["runs"][0] == "base-0", "the run that was asked for comes first"
    assert found["claim"].startswith("B is better on gsm8k by ") and "3 seeds each" in found["certainty"]
    assert [(d["key"], d["values"]) for d in found["differs"] if d["kind"] == "setting"] == [
        ("clip_eps_high", [0.2, 0.28]),
    ]
    assert found["metrics"][0]["name"] == "policy/entropy" and 40 <= found["metrics"][0]["step"] <= 55
    assert found["outcomes"][0]["improvement"] == 1 and found["measured"] == "reward/mean"
    said = asked(client, f"compare/noise?{ASKED}&on=reward/mean")["says"]
    assert "differences under" in said and "18 runs, 6 configurations" in said


def test_a_configuration_against_itself_is_no_difference(client: TestClient) -> None:
    found = asked(client, "compare?run=base-0&run=fast-0")
    assert found["claim"].startswith("No difference beyond noise")
    assert not [m["name"] for m in found["metrics"] if m["step"] is not None]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("alone", [["base-0"], ["hi-0"], ["base-1"]]),
        ("clip_eps_high", [["base-0", "base-1"], ["hi-0"]]),
        ("", [["base-0", "base-1", "base-2"], ["hi-0", "hi-1", "hi-2"]]),
    ],
)
def test_runs_stand_together_as_one_says(client: TestClient, by: str, groups: list[list[str]]) -> None:
    found = asked(client, f"compare?{ASKED}&run=base-1&by={by}")
    assert [sorted(group["runs"]) for group in found["groups"]] == groups


def test_two_seeds_of_one_configuration_are_compared_as_runs(client: TestClient) -> None:
    found = asked(client, "compare?run=base-0&run=base-1")
    assert [group["runs"] for group in found["groups"]] == [["base-0"], ["base-1"]]
    assert "another seed may differ" in found["certainty"]


@pytest.mark.parametrize("x", ["step", "tokens", "samples", "relative"])
@pytest.mark.parametrize("centre", ["mean", "iqm"])
def test_curves_have_a_centre_a_band_and_the_difference(client: TestClient, x: str, centre: str) -> None:
    groups = [[f"base-{i}" for i in range(3)], [f"hi-{i}" for i in range(3)]]
    body = {"groups": groups, "names": ["policy/entropy", "nothing"], "x": x, "centre": centre, "points": 50}
    reply = client.post("/api/compare/charts", json=body)
    assert reply.is_success, reply.text
    head, columns = packed.unpack(reply.content)
    n = head["n"]
    middle = columns["centre"].reshape(2, 2, n)
    low, high = columns["low"].reshape(2, 2, n)[0], columns["high"].reshape(2, 2, n)[0]
    there = np.isfinite(middle[0])
    assert np.isnan(middle[1]).all(), "a metric that no run has is no data"
    assert there.any() or x == "relative", "only by the clock may runs of a busy machine not overlap"
    assert ((low <= middle[0] + 1e-6) & (middle[0] <= high + 1e-6))[there].all()
    runs = columns["runs"].reshape(2, 6, n)[0]
    assert np.isfinite(runs).any(axis=1).all(), "every run is drawn"
    assert np.allclose(runs[:3].mean(axis=0)[there[0]], middle[0, 0][there[0]], atol=1e-5), "of three, no run is cut"
    gap = columns["gap_centre"].reshape(2, n)[0]
    assert np.allclose(gap, middle[0, 1] - middle[0, 0], atol=1e-6, equal_nan=True)
    assert head["metrics"][0]["counted"] == [3, 3] and head["metrics"][0]["noise"] > 0


def test_on_gpu_time_a_run_counts_with_its_gpus_and_one_without_is_named(tmp_path: Path) -> None:
    for id, gpus in (("one", 1), ("eight", 8), ("unsaid", None)):
        with rs.init(id=id, project="p", dir=tmp_path, host=False) as run:
            if gpus:
                run.declare(gpus=gpus)
            for step in range(20):
                run.log({"custom/loss": float(step)}, step=step)
    groups = [["one"], ["eight"], ["unsaid"]]
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        seconds, hours = (
            packed.unpack(client.post("/api/compare/charts", json={"groups": groups, "names": [NAME], "x": x}).content)
            for x in ("relative", "gpu")
        )
    assert hours[0]["unknown"] == ["unsaid"] and seconds[0]["unknown"] == []
    one, eight, unsaid = hours[1]["centre"].reshape(3, -1)
    assert np.isnan(unsaid).all()
    head, width = hours[0], (hours[0]["hi"] - hours[0]["lo"]) / hours[0]["n"]
    for id, gpus, values in (("one", 1, one), ("eight", 8, eight)):
        run = rs.open(tmp_path).run(id)
        took = (run.steps()["time_ns"][-1] - run.facts["started_ns"]) / 3.6e12
        at = np.flatnonzero(np.isfinite(values))[-1]
        assert head["lo"] + at * width - 1e-12 <= took * gpus <= head["lo"] + (at + 1) * width + 1e-12


def test_the_change_that_mattered_is_first_and_sure(client: TestClient) -> None:
    found = asked(client, f"compare/factors?{ASKED}&on=gsm8k")
    first, *rest = found["factors"]
    assert first["factor"] == "clip_eps_high" and first["low"] > 0.1 and (first["runs_with"], found["runs"]) == (6, 18)
    assert all(other["low"] < 0 < other["high"] for other in rest)


def test_the_same_tasks_are_sorted_by_who_solved_them(client: TestClient) -> None:
    found = asked(client, f"compare/tasks?{ASKED}&set=gsm8k")
    assert found["step"] == 120 and len(found["only_b"]) >= 8 and len(found["only_a"]) <= 1
    assert sum(len(found[key]) for key in ("both", "only_a", "only_b", "neither")) == 60
    none = asked(client, f"compare/tasks?{ASKED}&set=maths")
    assert none["step"] is None and not none["both"]


def test_runs_are_held_against_the_baseline_of_their_project(client: TestClient) -> None:
    assert asked(client, "runs/deltas") == {"projects": {}}
    said = client.post("/api/project", json={"changes": [{"kind": "baseline", "name": "math", "value": "base-1"}]})
    assert said.is_success
    rows = {row["id"]: row for row in asked(client, "runs")["runs"]}
    found = asked(client, "runs/deltas")["projects"]["math"]
    assert rows["base-0"]["configuration"] == rows["base-2"]["configuration"] != rows["hi-0"]["configuration"]
    high = found["groups"][rows["hi-0"]["configuration"]]
    assert high["low"] > 0 and high["runs"] == 3 and high["difference"] == pytest.approx(0.19, abs=0.03)
    assert not {"base-0", "base-1", "base-2"} & found["runs"].keys(), "the baseline has no difference to itself"
    assert found["runs"]["hi-0"]["low"] < high["low"], "one run is less sure than three"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("compare?run=base-0", "only one run"),
        ("compare?run=base-0&run=nobody", "no run 'nobody'"),
        (f"compare?{ASKED}&by=alone&nonsense=1", "nonsense"),
    ],
)
def test_a_wrong_question_gets_a_sentence(client: TestClient, path: str, says: str) -> None:
    reply = client.get(f"/api/{path}")
    assert reply.status_code in (400, 404) and says in reply.json()["says"]
