"""Why a metric moved, asked of a recorded run in Python, over HTTP and in the terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput, RollscopeError
from rollscope.server.app import create
from rollscope.views.why.quantity import quantity
from tests.web.rollout_runs import FALL, HOSTILE, record


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


def test_every_mean_and_share_over_samples_is_the_recorded_one(folder: Path, tmp_path: Path) -> None:
    """What `why` takes apart is the number on the chart: each name that it accepts, against the step's statistics; an empty answer is in lengths only."""
    with rs.init(project="p", id="some", dir=tmp_path, host=False) as run:
        run.declare(env="a", reward_min=0, reward_max=1)
        for step in range(3):
            rows = [
                {
                    "id": f"{step}.{i}",
                    "group": f"g{i % 5}",
                    "env": "ab"[i % 2],
                    "reward": (i * 7 + step) % 5 / 4,
                    "completion_tokens": 0 if i % 6 == 0 else 10 + i,
                    "prompt_tokens": 5,
                    "response_tokens": 0 if i % 6 == 0 else 20 + i,
                }
                | {
                    "stop_reason": ["stop", "length", None, "max_turns"][i % 4],
                    "trained": [True, False, None][(i + step) % 3],
                    "rewards": {"format": i % 2},
                    "tool_calls": i % 3,
                    "tool_failures": i % 2,
                    "turns": [],
                    "off_policy_steps": i % 3,
                }
                for i in range(30)
            ]
            run.log_samples(step=step, samples=rows)
            run.commit(step)
    counted = 0
    for reader, steps in ((rs.open(tmp_path).run("some"), (1, 2)), (rs.open(folder).run("rolls"), (20, FALL))):
        for name in {*reader.stored_names(), *reader.derived()}:
            try:
                quantity(name)
            except RollscopeError:
                continue
            recorded = reader.series(name)
            for step in steps:
                value = recorded["value"][recorded["step"] == step]
                if len(value):
                    np.testing.assert_allclose(
                        reader.why(name, step).now, value[0], rtol=1e-9, atol=1e-12, err_msg=name
                    )
                    counted += 1
    assert counted > 100


@pytest.mark.parametrize(
    ("metric", "column", "of"),
    [
        ("reward/mean", "reward", float),
        ("length/completion/mean", "completion_tokens", float),
        ("length/truncated", "stop_reason", lambda s: float(s == "length")),
        ("reward_component/format/mean", "rewards", lambda cell: float(cell["format"])),
        ("tool/failures/mean", "tool_failures", float),
    ],
)
def test_by_hand(folder: Path, metric: str, column: str, of: Callable[[Any], float]) -> None:
    """n_g/N (m_g - M), written out."""
    run = rs.open(folder).run("rolls")

    def read(step: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        rows = run.samples(step=step, columns=["group", column])
        value = np.array([math.nan if v is None or v != v else of(v) for v in rows[column]])
        return rows["group"][~np.isnan(value)], value[~np.isnan(value)]

    (group, x), (_, y) = read(FALL), read(12)
    found = {p.group: p.adds for p in run.why(metric, FALL, 12).parts}
    assert found.keys() == set(group) and abs(sum(found.values()) - (x.mean() - y.mean())) < 1e-9
    for name, adds in found.items():
        mine = x[group == name]
        assert math.isclose(adds, len(mine) / len(x) * (mine.mean() - y.mean()), abs_tol=1e-12)


def test_any_frameworks_name_will_do(folder: Path) -> None:
    run = rs.open(folder).run("rolls")
    assert run.why("critic/rewards/mean", FALL).change == run.why("reward/mean", FALL).change


@pytest.mark.parametrize(
    ("metric", "step", "says"),
    [
        ("policy/entropy", 5, "not a mean over samples"),
        ("reward/max", 5, "reward/mean"),
        ("reward/mean", 400, "nearest"),
        ("reward/mean", 0, "first step"),
    ],
)
def test_what_cannot_be_taken_apart_is_said(folder: Path, metric: str, step: int, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        rs.open(folder).run("rolls").why(metric, step)


sample = st.tuples(
    st.integers(0, 4),
    st.one_of(st.none(), st.floats(-100, 100), st.just(math.nan)),
    st.sampled_from(["a", "b", None]),
    st.booleans(),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(sample, min_size=1, max_size=12), min_size=2, max_size=3))
def test_recorded_random_steps_add_up(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[int, float | None, str | None, bool]]]
) -> None:
    """Groups missing on one side, NaN and missing rewards, other group sizes: from the recorder to the answer."""
    folder = tmp_path_factory.mktemp("random")
    with rs.init(project="p", id="r", dir=folder, host=False) as run:
        for n, rows in enumerate(steps):
            run.log_samples(
                step=n,
                samples=[
                    {"id": f"{n}.{i}", "group": f"g{g}" if n % 2 else g, "reward": r, "env": e, "trained": t}
                    for i, (g, r, e, t) in enumerate(rows)
                ],
            )
    for metric in ("reward/mean", "reward/trained/mean"):
        why = rs.open(folder).run("r").why(metric, len(steps) - 1)
        total = math.fsum(p.adds for p in why.parts)
        assert math.isnan(why.change) if not why.parts else math.isclose(total, why.change, abs_tol=1e-9)


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of eight samples of a step five were trained on. Lengths are logged over those, truncation over all, the score is another number than the samples give."""
    folder = tmp_path_factory.mktemp("lengths")
    with rs.init(project="p", id="some", dir=folder, host=False) as run:
        for step in range(3):
            rows = [
                {
                    "id": f"{step}.{i}",
                    "group": f"g{i}",
                    "reward": 1.0,
                    "score": 1.0,
                    "completion_tokens": 10 * i + step * (i + 1),
                    "trained": i < 5,
                }
                | {"stop_reason": "length" if i > 5 - step else "stop"}
                for i in range(8)
            ]
            run.log_samples(step=step, samples=rows)
            logged = {
                "length/completion/mean": float(
                    np.mean([row["completion_tokens"] for row in rows[:5]], dtype=np.float32)
                ),
                "length/truncated": float(np.mean([row["stop_reason"] == "length" for row in rows])),
                "score/mean": 0.5 + step,
            }
            run.log(logged, step=step)
            run.commit(step)
    return folder


@pytest.mark.parametrize(
    ("metric", "scope", "agrees", "counted"),
    [
        ("length/completion/mean", "trained", True, 5),
        ("length/completion/generated/mean", "generated", None, 8),
        ("length/truncated", "", True, 8),
        ("score/mean", "", False, 8),
        ("reward/mean", "", None, 8),
    ],
)
def test_a_name_without_a_scope_is_over_the_samples_that_give_what_was_logged(
    lengths: Path, metric: str, scope: str, agrees: bool | None, counted: int
) -> None:
    """Definitions: without the information neither word, so a name may be over the trained batch or over all. The numbers say which; where none fits, that is said."""
    run = rs.open(lengths).run("some")
    why = run.why(metric, 2)
    assert (why.scope, why.agrees, why.counted) == (scope, agrees, (counted, counted))
    if agrees:
        logged = run.series(metric)["value"]
        assert math.isclose(why.now, logged[2], rel_tol=1e-6) and math.isclose(why.before, logged[1], rel_tol=1e-6)
    assert math.isclose(math.fsum(p.adds for p in why.parts), why.change, abs_tol=1e-9)


def test_which_samples_and_whether_they_agree_is_said(lengths: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for metric in ("length/completion/mean", "score/mean", "reward/mean"):
        assert main(["why", "some", metric, "2", "--dir", str(lengths)]) == 0
        said[metric] = " ".join(capsys.readouterr().out.split())
    assert (
        "over samples that were trained on: 5 and 5" in said["length/completion/mean"]
        and "logged: 23 to 26, the same" in said["length/completion/mean"]
    )
    assert (
        "over all samples: 8 and 8" in said["score/mean"] and "logged: 1.5 to 2.5, another number" in said["score/mean"]
    )
    assert "not logged under this name" in said["reward/mean"]
    with TestClient(create(str(lengths)), base_url="http://127.0.0.1") as client:
        found = client.get("/api/runs/some/why?metric=length/completion/mean&step=2").json()
        assert (found["population"], found["agrees"], found["recorded"]) == (
            "samples that were trained on",
            True,
            [26.0, 23.0],
        )
        assert client.get("/api/runs/some/why?metric=length/completion/mean&step=2&over=all").json()["counted"] == [
            8,
            8,
        ]


def test_over_http_the_list_and_the_rest_are_the_change(client: TestClient) -> None:
    found = client.get(f"/api/runs/rolls/why?metric=reward/mean&step={FALL}&top=2").json()
    assert len(found["parts"]) == 2 and found["parts"][0]["prompt"].startswith("Using [")
    rest = found["rest"]
    assert math.isclose(
        sum(p["adds"] for p in found["parts"]) + rest["down_adds"] + rest["up_adds"], found["change"], abs_tol=1e-9
    )
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
    assert (
        main(
            [
                "samples",
                "rolls",
                "--where",
                "step = 35 and env = 'tools'",
                "--order-by",
                "reward, id",
                "--limit",
                "2",
                "--dir",
                str(folder),
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert said.count("prompt") == 2 and "tool calculator" in said and "cut" not in said
    assert main(["samples", "rolls", "--where", "\"group\" = 'hostile'", "--dir", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "\x1b[31m" not in said and "\u202e" not in said and "<U+202E>" in said and "<U+D800>" in said
    assert (
        main(
            ["samples", "rolls", "--where", "\"group\" = 'hostile'", "--order-by", "id", "--json", "--dir", str(folder)]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert (
        said.replace("\n", "").isprintable() and json.loads(said.splitlines()[0])["completion"] == HOSTILE
    )  # a terminal obeys nothing of it, and nothing is lost
    assert main(["samples", "rolls", "--limit", "3", "--json", "--dir", str(folder)]) == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == 3
    assert main(["samples", "rolls", "--where", "nonsense(", "--dir", str(folder)]) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["samples", "rolls", "--limit", "0"], "--limit must be 1 or more"),
        (["samples", "rolls", "--text", "-1"], "--text must be 0 or more"),
        (["samples", "rolls", "--where", "speed > 3"], "The columns of samples are: "),
        (["why", "rolls", "reward/mean", "9", "--top", "-3"], "--top must be 0 or more"),
        (["why", "rolls", "reward_component/*/mean", "9"], "stands for several metrics"),
    ],
)
def test_an_argument_that_makes_no_sense_is_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main([*words, "--dir", str(folder)]) == 2
    assert says in capsys.readouterr().err


def test_a_call_without_a_known_end_is_neither_ok_nor_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [
        {"role": "tool", "tool": name, "result": "7", "ok": ok, "seconds": s}
        for name, ok, s in (("a", True, 0.5), ("b", False, 0.25), ("c", None, None))
    ]
    with rs.init(project="p", id="some", dir=tmp_path, host=False) as run:
        run.log_samples(step=0, samples=[{"id": "s", "group": "g", "reward": 1.0, "prompt": "p", "turns": calls}])
    assert main(["samples", "some", "--dir", str(tmp_path)]) == 0
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if "tool" in line]
    assert said == ["tool a ok 0.5 s 7", "tool b failed 0.25 s 7", "tool c 7"]
