"""Samples of a step over HTTP: columns first, then some texts; and the history of prompts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.server.packed import unpack
from tests.store.conftest import T0, World
from tests.web.rollout_runs import HOSTILE, STEPS, TASKS


def step(client: TestClient, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return unpack(client.get(f"/api/runs/rolls/rollouts?step={n}").content)


def test_a_step_is_columns_without_text(rolls: TestClient) -> None:
    head, columns = step(rolls, 35)
    assert (head["step"], head["before"], head["after"]) == (35, 34, 36)
    assert len(head["ids"]) == 32 and head["groups"] == [f"g35.{t}" for t in range(4)] and head["tasks"] == list(TASKS)
    assert {"rewards/equation", "rewards/format", "sample_metrics/accuracy"} == set(head["parts"])
    assert head["ranges"]["reward"] == [0, 2] and head["ranges"]["rewards/format"] == [0, 1]
    np.testing.assert_array_equal(columns["group"], np.repeat(np.arange(4), 8))
    assert "completion" not in json.dumps({k: v for k, v in head.items() if k != "columns"})


def test_a_step_without_samples_means_the_last_before_it(rolls: TestClient) -> None:
    assert step(rolls, 10_000)[0]["step"] == STEPS - 1
    assert step(rolls, -5)[0]["step"] == 0


def test_the_samples_that_a_list_opens_with_come_along(rolls: TestClient) -> None:
    head, columns = step(rolls, 35)
    assert head["samples"] == []
    trained = [i for i in range(32) if columns["fate"][i] == 1]
    worst = min({columns["group"][i] for i in trained}, key=lambda g: (columns["reward"][8 * g : 8 * g + 8].mean(), g))
    order = sorted((i for i in trained if columns["group"][i] == worst), key=lambda i: -columns["reward"][i])
    opening = opened(rolls, "rolls", 35, 4)
    ids = [sample["id"] for sample in opening]
    assert ids == [head["ids"][order[k]] for k in (-1, 0, -2, 1)]
    assert opening == rolls.post("/api/runs/rolls/rollouts/samples", json={"ids": ids}).json()["samples"]


def test_a_list_without_rewards_opens_with_its_first_group_and_an_evaluation_with_its_own(tmp_path: Path) -> None:
    with rs.init(project="p", id="bare", dir=tmp_path, host=False) as run:
        run.log_samples(step=0, samples=[{"id": f"{i}", "group": f"g{i % 2}"} for i in range(6)])
        run.log_samples(step=1, samples=[{"id": "e", "split": "eval", "score": 0.5}])
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as bare:
        assert [[s["id"] for s in opened(bare, "bare", n, 2)] for n in (0, 1)] == [["4", "0"], ["e"]]


def opened(client: TestClient, run: str, n: int, texts: int) -> list[dict[str, Any]]:
    head, _ = unpack(client.get(f"/api/runs/{run}/rollouts?step={n}&texts={texts}").content)
    samples: list[dict[str, Any]] = head["samples"]
    return samples


def test_gini_is_the_groups_own(rolls: TestClient) -> None:
    head, columns = step(rolls, 35)
    reward = np.sort(columns["reward"][8 * 2 : 8 * 3])
    rank = np.arange(1, 9)
    assert math.isclose(columns["gini"][2], ((2 * rank - 9) * reward).sum() / (8 * reward.sum()), rel_tol=1e-5)
    assert columns["gini"][3] == 0  # all of them failed, so none is unequal
    assert len(head["groups"]) == len(columns["gini"])


def test_an_evaluation_of_the_same_prompt_is_a_group_of_its_own(tmp_path: Path) -> None:
    pairs = [(i, split) for i in range(2) for split in ("train", "eval")]
    rows = [{"id": f"{split}{i}", "task": "2+2", "split": split, "reward": float(i)} for i, split in pairs]
    with rs.init(project="p", id="both", dir=tmp_path, host=False) as run:
        run.log_samples(step=0, samples=rows)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        head, columns = unpack(client.get("/api/runs/both/rollouts?step=0").content)
    assert head["groups"] == ["2+2", "2+2"] and head["ids"] == ["train0", "train1", "eval0", "eval1"]
    assert columns["group"].tolist() == [0, 0, 1, 1] and columns["fate"].tolist() == [0, 0, 3, 3]


def test_fates_and_their_reasons(rolls: TestClient) -> None:
    head, columns = step(rolls, 35)
    reasons = np.array(head["words"]["discard_reason"])[columns["discard_reason code"]]
    assert set(reasons[columns["fate"] == 2]) == {"zero_advantage"} and set(reasons[columns["fate"] == 1]) == {""}


def test_samples_come_whole_with_turns_and_tokens(rolls: TestClient) -> None:
    reply = rolls.post("/api/runs/rolls/rollouts/samples", json={"ids": ["s35.2.0", "s35.0.0"]})
    tool, plain = reply.json()["samples"]
    assert [t["role"] for t in tool["turn_rows"]] == ["assistant", "tool", "assistant"]
    assert tool["turn_rows"][1]["ok"] is False and tool["turn_rows"][1]["seconds"] == 0.012
    assert len(plain["tokens"]) == len(plain["logp"]) == len(plain["entropy"])
    assert "".join(plain["tokens"]) == plain["completion"]
    assert rolls.post("/api/runs/rolls/rollouts/samples", json={"ids": ["not there"]}).json() == {"samples": []}


def test_a_long_text_comes_in_two_parts(tmp_path: Path) -> None:
    text = "é𝄞x" * 50_000
    with rs.init(project="p", id="long", dir=tmp_path, host=False) as run:
        run.log_samples(step=0, samples=[{"id": "a", "completion": text, "reward": 1.0}])
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        first = client.post("/api/runs/long/rollouts/samples", json={"ids": ["a"]}).json()["samples"][0]
        assert first["whole"]["completion"] == len(text) and len(first["completion"]) == 64_000

        def rest(id: str, field: str, start: int) -> Any:
            return client.post("/api/runs/long/rollouts/text", json={"id": id, "field": field, "start": start})

        lines = rest("a", "completion", len(first["completion"])).text.splitlines()
        assert first["completion"] + "".join(map(json.loads, lines)) == text
        assert rest("a", "reward", 0).status_code == 400
        assert rest("b", "prompt", 0).status_code == 404


def test_hostile_text_arrives_as_it_was_written(rolls: TestClient) -> None:
    head, _ = step(rolls, STEPS - 1)
    assert HOSTILE in head["tasks"] and HOSTILE in head["words"]["stop_reason"]
    sample = rolls.post("/api/runs/rolls/rollouts/samples", json={"ids": ["hostile-1"]}).json()["samples"][0]
    assert sample["completion"] == sample["prompt"] == HOSTILE
    assert rolls.get(f"/api/runs/rolls/visits?step={STEPS - 1}").status_code == 200
    assert rolls.get("/api/runs/rolls/prompts").status_code == 200


def test_the_last_visit_of_a_prompt(rolls: TestClient) -> None:
    tasks = rolls.get("/api/runs/rolls/visits?step=35").json()["tasks"]
    head, columns = step(rolls, 34)
    for g, task in enumerate(head["tasks"]):
        assert tasks[task] == [34, pytest.approx(float(columns["reward"][columns["group"] == g].mean()))]
    assert rolls.get("/api/runs/rolls/visits?step=0").json()["tasks"] == {}


def test_prompts_are_solved_forgotten_or_never_solved(rolls: TestClient) -> None:
    head, columns = unpack(rolls.get("/api/runs/rolls/prompts").content)
    status = dict(zip(head["tasks"], head["status"], strict=True))
    assert (status[TASKS[0]], status[TASKS[1]], status[TASKS[3]]) == ("forgotten", "solved", "never")
    assert columns["count"].sum() == len(columns["step"]) == len(columns["mean"]) and head["range"] == [0, 2]
    sample = head["samples"][head["tasks"].index(TASKS[2])]
    assert rolls.post("/api/runs/rolls/rollouts/previews", json={"ids": [sample]}).json() == {
        "lines": {sample: f"{TASKS[2]}."}
    }
    visits = rolls.get("/api/runs/rolls/prompts/visits", params={"task": TASKS[0], "near": 12}).json()
    assert visits["total"] == STEPS and all(len(v["samples"]) == 8 for v in visits["visits"])
    assert rolls.get("/api/runs/rolls/prompts/visits", params={"task": "nothing"}).json() == {"visits": [], "total": 0}


def test_previews_are_one_line(rolls: TestClient) -> None:
    lines = rolls.post("/api/runs/rolls/rollouts/previews", json={"ids": ["s35.0.0", "s35.2.0"]}).json()["lines"]
    assert lines == {"s35.0.0": f"{TASKS[0]}.", "s35.2.0": f"{TASKS[2]}."}
    assert rolls.post("/api/runs/rolls/rollouts/previews", json={"ids": ["x"] * 401}).status_code == 400


def test_a_run_without_samples_says_so(tmp_path: Path) -> None:
    with rs.init(project="p", id="none", dir=tmp_path, host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
        run.commit(0)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        assert unpack(client.get("/api/runs/none/rollouts").content)[0]["step"] is None
        assert client.get("/api/runs/none/prompts").status_code == 200
        assert "no samples" in client.get("/api/runs/none/why?metric=reward/mean&step=0").json()["says"]
        assert client.get("/api/runs/none/why/able?metric=reward/mean").json()["able"] is False


def test_samples_without_a_step_are_counted_and_asked_for_beside_the_others(tmp_path: Path) -> None:
    writer = World(tmp_path).writer()
    writer.metrics(3, {"reward/mean": 0.5})
    writer.rows("samples", [{"id": f"a{i}", "step": 3, "time_ns": T0} for i in range(2)])
    writer.rows("samples", [{"id": f"s{i}", "reward": float(i), "time_ns": T0} for i in range(3)])
    writer.finish()
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        known = [unpack(client.get(f"/api/runs/r1/rollouts?{asked}").content)[0] for asked in ("", "stepless=true")]
        assert [(head["step"], head["last"], head["stepless"], head["before"]) for head in known] == [
            *[(3, 3, 3, None), (None, 3, 3, 3)]
        ]
        assert [head["ids"] for head in known] == [["a0", "a1"], ["s0", "s1", "s2"]]
        overview = client.get("/api/runs/r1/overview").json()
        assert (overview["samples_step"], overview["samples_stepless"]) == (3, 3)


def test_samples_that_name_no_step_are_shown(tmp_path: Path) -> None:
    """As agents send them by OpenTelemetry: a trainer that counts steps need not be there."""
    writer = World(tmp_path).writer()
    rows = [{"id": f"s{i}", "group": f"g{i % 2}", "reward": float(i), "completion": "four"} for i in range(4)]
    writer.rows("samples", [{**row, "time_ns": T0} for row in rows])
    writer.finish()
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        for asked in ("", "step=0&"):
            head, columns = unpack(client.get(f"/api/runs/r1/rollouts?{asked}texts=2").content)
            assert (head["step"], head["before"], head["after"], head["last"]) == (None, None, None, None)
            assert head["ids"] == ["s0", "s2", "s1", "s3"] and head["groups"] == ["g0", "g1"]
            assert columns["reward"].tolist() == [0, 2, 1, 3]
            assert {sample["completion"] for sample in head["samples"]} == {"four"}
        overview = client.get("/api/runs/r1/overview").json()
    assert overview["samples_step"] is None
    assert [one["sample"]["id"] for one in overview["samples"]] == ["s3", "s1", "s0"]
