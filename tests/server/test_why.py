"""Why a metric moved, asked of a recorded run in Python, over HTTP and in the terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput
from rollscope.server.app import create
from tests.web.rollout_runs import FALL, record


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("why")
    record(found)
    return found


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize(
    "metric",
    [
        "reward/mean",
        "reward/generated/mean",
        "reward/trained/mean",
        "discarded/reward/mean",
        "score/mean",
        "length/completion/mean",
        "length/truncated",
        "stop/length",
        "reward_component/format/mean",
        "sample_metric/accuracy/mean",
        "tool/failures/mean",
    ],
)
@pytest.mark.parametrize("against", [None, 5])
def test_the_parts_add_up_to_the_change(folder: Path, metric: str, against: int | None) -> None:
    why = rs.open(folder).run("rolls").why(metric, FALL, against)
    assert why.against == (FALL - 1 if against is None else 5)
    if not why.parts:
        assert math.isnan(why.change)
        return
    assert math.isclose(math.fsum(p.adds for p in why.parts), why.change, abs_tol=1e-9)
    for kinds in why.kinds.values():
        assert math.isclose(math.fsum(k.more + k.each for k in kinds), why.change, abs_tol=1e-9)


def test_the_mean_is_the_recorded_one(folder: Path) -> None:
    run = rs.open(folder).run("rolls")
    recorded = run.series("reward/generated/mean")
    assert math.isclose(run.why("reward/generated/mean", 20).now, recorded["value"][20], rel_tol=1e-12)


def test_any_frameworks_name_will_do(folder: Path) -> None:
    run = rs.open(folder).run("rolls")
    assert run.why("critic/rewards/mean", FALL).change == run.why("reward/mean", FALL).change


@pytest.mark.parametrize(
    ("metric", "step", "says"),
    [("policy/entropy", 5, "not a mean over samples"), ("reward/max", 5, "reward/mean"), ("reward/mean", 400, "nearest"), ("reward/mean", 0, "first step")],
)
def test_what_cannot_be_taken_apart_is_said(folder: Path, metric: str, step: int, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        rs.open(folder).run("rolls").why(metric, step)


sample = st.tuples(st.integers(0, 4), st.one_of(st.none(), st.floats(-100, 100), st.just(math.nan)), st.sampled_from(["a", "b", None]), st.booleans())


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(sample, min_size=1, max_size=12), min_size=2, max_size=3))
def test_recorded_random_steps_add_up(tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[int, float | None, str | None, bool]]]) -> None:
    """Groups missing on one side, NaN and missing rewards, other group sizes: from the recorder to the answer."""
    folder = tmp_path_factory.mktemp("random")
    with rs.init(project="p", id="r", dir=folder, host=False) as run:
        for n, rows in enumerate(steps):
            run.log_samples(
                step=n,
                samples=[{"id": f"{n}.{i}", "group": f"g{g}" if n % 2 else g, "reward": r, "env": e, "trained": t} for i, (g, r, e, t) in enumerate(rows)],
            )
    for metric in ("reward/mean", "reward/trained/mean"):
        why = rs.open(folder).run("r").why(metric, len(steps) - 1)
        total = math.fsum(p.adds for p in why.parts)
        assert math.isnan(why.change) if not why.parts else math.isclose(total, why.change, abs_tol=1e-9)


def test_over_http_the_list_and_the_rest_are_the_change(client: TestClient) -> None:
    found = client.get(f"/api/runs/rolls/why?metric=reward/mean&step={FALL}&top=2").json()
    assert len(found["parts"]) == 2 and found["parts"][0]["prompt"].startswith("Using [")
    rest = found["rest"]
    assert math.isclose(sum(p["adds"] for p in found["parts"]) + rest["down_adds"] + rest["up_adds"], found["change"], abs_tol=1e-9)
    assert found["change"] < 0 and found["parts"][0]["adds"] < 0
    assert client.get("/api/runs/rolls/why/able?metric=policy/entropy").json()["able"] is False
    assert client.get("/api/runs/rolls/why/able?metric=reward/generated/mean").json() == {"able": True, "says": ""}
    assert "no earlier step" in client.get("/api/runs/rolls/why/able?metric=reward/mean&step=0").json()["says"]
    assert client.get(f"/api/runs/rolls/why?metric=policy/entropy&step={FALL}").status_code == 400


def test_in_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "rolls", "reward/mean", str(FALL), "--dir", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"step {FALL - 1} to {FALL}" in said and "by environment" in said and "more of them" in said and "−" in said
    assert main(["why", "rolls", "reward/mean", str(FALL), "--against", "3", "--json", "--dir", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["against"] == 3 and np.isclose(sum(p["adds"] for p in found["parts"]), found["change"], atol=1e-9)
    assert main(["why", "rolls", "policy/entropy", "5", "--dir", str(folder)]) == 2


def test_samples_in_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samples", "rolls", "--where", "step = 35 and env = 'tools'", "--order-by", "reward, id", "--limit", "2", "--dir", str(folder)]) == 0
    said = capsys.readouterr().out
    assert said.count("prompt") == 2 and "tool calculator" in said and "cut" not in said
    assert main(["samples", "rolls", "--where", "\"group\" = 'hostile'", "--dir", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "\x1b[31m" not in said and "\u202e" not in said and "<U+202E>" in said and "<U+D800>" in said
    assert main(["samples", "rolls", "--limit", "3", "--json", "--dir", str(folder)]) == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == 3
    assert main(["samples", "rolls", "--where", "nonsense(", "--dir", str(folder)]) == 2
