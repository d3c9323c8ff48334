"""Why a metric of a recorded run moved: in Python, over HTTP and in the terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
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
from tests.web.rollout_runs import FALL, HOSTILE


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
def test_the_parts_add_up_to_the_change(rolls_folder: Path, metric: str, against: int | None) -> None:
    why = rs.open(rolls_folder).run("rolls").why(metric, FALL, against)
    assert why.against == (FALL - 1 if against is None else 5)
    if not why.parts:
        assert math.isnan(why.change)
        return
    assert math.isclose(math.fsum(p.adds for p in why.parts), why.change, abs_tol=1e-9)
    for kinds in why.kinds.values():
        assert math.isclose(math.fsum(k.more + k.each for k in kinds), why.change, abs_tol=1e-9)


def test_the_mean_is_the_recorded_one(rolls_folder: Path) -> None:
    run = rs.open(rolls_folder).run("rolls")
    recorded = run.series("reward/generated/mean")
    assert math.isclose(run.why("reward/generated/mean", 20).now, recorded["value"][20], rel_tol=1e-12)


def varied_sample(step: int, i: int) -> dict[str, Any]:
    return {
        "id": f"{step}.{i}",
        "group": f"g{i % 5}",
        "env": "ab"[i % 2],
        "reward": (i * 7 + step) % 5 / 4,
        "completion_tokens": 0 if i % 6 == 0 else 10 + i,
        "prompt_tokens": 5,
        "response_tokens": 0 if i % 6 == 0 else 20 + i,
        "stop_reason": ["stop", "length", None, "max_turns"][i % 4],
        "trained": [True, False, None][(i + step) % 3],
        "rewards": {"format": i % 2},
        "tool_calls": i % 3,
        "tool_failures": i % 2,
        "turns": [],
        "off_policy_steps": i % 3,
    }


def test_every_mean_and_share_over_samples_is_the_recorded_one(rolls_folder: Path, tmp_path: Path) -> None:
    """Every name that `why` accepts has the value of the step's statistics."""
    with rs.init(project="p", id="some", dir=tmp_path, host=False) as run:
        run.declare(env="a", reward_min=0, reward_max=1)
        for step in range(3):
            run.log_samples(step=step, samples=[varied_sample(step, i) for i in range(30)])
            run.commit(step)
    counted = 0
    for reader, steps in ((rs.open(tmp_path).run("some"), (1, 2)), (rs.open(rolls_folder).run("rolls"), (20, FALL))):
        for name in {*reader.stored_names(), *reader.derived()}:
            try:
                quantity(name)
            except RollscopeError:
                continue
            recorded = reader.series(name)
            for step in steps:
                value = recorded["value"][recorded["step"] == step]
                if len(value):
                    now = reader.why(name, step).now
                    np.testing.assert_allclose(now, value[0], rtol=1e-9, atol=1e-12, err_msg=name)
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
def test_the_parts_follow_the_formula(rolls_folder: Path, metric: str, column: str, of: Callable[[Any], float]) -> None:
    """A group adds n_g/N (m_g - M)."""
    run = rs.open(rolls_folder).run("rolls")

    def read(step: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        rows = run.samples(step=step, columns=["group", column])
        value = np.array([math.nan if v is None or v != v else of(v) for v in rows[column]])
        return rows["group"][~np.isnan(value)], value[~np.isnan(value)]

    (group, x), (_, y) = read(FALL), read(12)
    adds = {part.group: part.adds for part in run.why(metric, FALL, 12).parts}
    assert adds.keys() == set(group) and abs(sum(adds.values()) - (x.mean() - y.mean())) < 1e-9
    for name, added in adds.items():
        own = x[group == name]
        assert math.isclose(added, len(own) / len(x) * (own.mean() - y.mean()), abs_tol=1e-12)


def test_any_frameworks_name_will_do(rolls_folder: Path) -> None:
    run = rs.open(rolls_folder).run("rolls")
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
def test_a_metric_without_an_explanation_is_rejected(rolls_folder: Path, metric: str, step: int, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        rs.open(rolls_folder).run("rolls").why(metric, step)


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
    """Groups on one side only, NaN and missing rewards, unequal groups."""
    folder = tmp_path_factory.mktemp("random")
    with rs.init(project="p", id="r", dir=folder, host=False) as run:
        for n, rows in enumerate(steps):
            samples = [
                {"id": f"{n}.{i}", "group": f"g{g}" if n % 2 else g, "reward": r, "env": e, "trained": t}
                for i, (g, r, e, t) in enumerate(rows)
            ]
            run.log_samples(step=n, samples=samples)
    for metric in ("reward/mean", "reward/trained/mean"):
        why = rs.open(folder).run("r").why(metric, len(steps) - 1)
        total = math.fsum(p.adds for p in why.parts)
        assert math.isnan(why.change) if not why.parts else math.isclose(total, why.change, abs_tol=1e-9)


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that trained on five of eight samples of each step.

    Lengths are logged over those five, truncation over all; the score differs from the samples'.
    """
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
                    "stop_reason": "length" if i > 5 - step else "stop",
                }
                for i in range(8)
            ]
            run.log_samples(step=step, samples=rows)
            length = float(np.mean([row["completion_tokens"] for row in rows[:5]], dtype=np.float32))
            truncated = float(np.mean([row["stop_reason"] == "length" for row in rows]))
            means = {"length/completion/mean": length, "length/truncated": truncated, "score/mean": 0.5 + step}
            run.log(means, step=step)
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
def test_a_name_without_a_scope_covers_the_samples_that_give_its_logged_value(
    lengths: Path, metric: str, scope: str, agrees: bool | None, counted: int
) -> None:
    """Such a name may cover trained samples or all: its values tell, or `agrees` is False."""
    run = rs.open(lengths).run("some")
    why = run.why(metric, 2)
    assert (why.scope, why.agrees, why.counted) == (scope, agrees, (counted, counted))
    if agrees:
        logged = run.series(metric)["value"]
        assert math.isclose(why.now, logged[2], rel_tol=1e-6) and math.isclose(why.before, logged[1], rel_tol=1e-6)
    assert math.isclose(math.fsum(p.adds for p in why.parts), why.change, abs_tol=1e-9)


def test_the_output_names_the_samples_and_whether_they_agree(lengths: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def output(metric: str) -> str:
        assert main(["why", "some", metric, "2", "--dir", str(lengths)]) == 0
        return " ".join(capsys.readouterr().out.split())

    length, score = output("length/completion/mean"), output("score/mean")
    assert "over samples that were trained on: 5 and 5" in length and "logged: 23 to 26, the same" in length
    assert "over all samples: 8 and 8" in score and "logged: 1.5 to 2.5, another number" in score
    assert "not logged under this name" in output("reward/mean")
    with TestClient(create(str(lengths)), base_url="http://127.0.0.1") as client:
        address = "/api/runs/some/why?metric=length/completion/mean&step=2"
        answer = client.get(address).json()
        assert (answer["population"], answer["agrees"]) == ("samples that were trained on", True)
        assert answer["recorded"] == [26.0, 23.0]
        assert client.get(f"{address}&over=all").json()["counted"] == [8, 8]


def test_over_http_the_list_and_the_rest_are_the_change(rolls: TestClient) -> None:
    answer = rolls.get(f"/api/runs/rolls/why?metric=reward/mean&step={FALL}&top=2").json()
    parts, rest = answer["parts"], answer["rest"]
    assert len(parts) == 2 and parts[0]["prompt"].startswith("Using [")
    total = sum(part["adds"] for part in parts) + rest["down_adds"] + rest["up_adds"]
    assert math.isclose(total, answer["change"], abs_tol=1e-9)
    assert answer["change"] < 0 and parts[0]["adds"] < 0
    assert rolls.get("/api/runs/rolls/why/able?metric=policy/entropy").json()["able"] is False
    assert rolls.get("/api/runs/rolls/why/able?metric=reward/generated/mean").json() == {"able": True, "says": ""}
    assert "no earlier step" in rolls.get("/api/runs/rolls/why/able?metric=reward/mean&step=0").json()["says"]
    assert rolls.get(f"/api/runs/rolls/why?metric=policy/entropy&step={FALL}").status_code == 400


def test_why_in_the_terminal(rolls_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "rolls", "reward/mean", str(FALL), "--dir", str(rolls_folder)]) == 0
    output = capsys.readouterr().out
    assert all(words in output for words in (f"step {FALL - 1} to {FALL}", "by environment", "more of them", "−"))
    assert main(["why", "rolls", "reward/mean", str(FALL), "--against", "3", "--json", "--dir", str(rolls_folder)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["against"] == 3
    assert np.isclose(sum(part["adds"] for part in answer["parts"]), answer["change"], atol=1e-9)
    assert main(["why", "rolls", "policy/entropy", "5", "--dir", str(rolls_folder)]) == 2


def samples_output(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["samples", "rolls", *words, "--dir", str(folder)]) == 0
    return capsys.readouterr().out


def test_samples_in_the_terminal(rolls_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = ["--where", "step = 35 and env = 'tools'", "--order-by", "reward, id", "--limit", "2"]
    output = samples_output(rolls_folder, capsys, *two)
    assert output.count("prompt") == 2 and "tool calculator" in output and "cut" not in output
    lines = samples_output(rolls_folder, capsys, "--limit", "3", "--json").splitlines()
    assert len([json.loads(line) for line in lines]) == 3
    assert main(["samples", "rolls", "--where", "nonsense(", "--dir", str(rolls_folder)]) == 2


def test_hostile_samples_do_not_control_the_terminal(rolls_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = ["--where", "\"group\" = 'hostile'"]
    output = samples_output(rolls_folder, capsys, *hostile)
    assert "\x1b[31m" not in output and "\u202e" not in output and "<U+202E>" in output and "<U+D800>" in output
    output = samples_output(rolls_folder, capsys, *hostile, "--order-by", "id", "--json")
    assert output.replace("\n", "").isprintable()
    assert json.loads(output.splitlines()[0])["completion"] == HOSTILE  # and no text is lost


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
def test_a_bad_argument_is_rejected_with_a_sentence(
    rolls_folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main([*words, "--dir", str(rolls_folder)]) == 2
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
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if "tool" in line]
    assert lines == ["tool a ok 0.5 s 7", "tool b failed 0.25 s 7", "tool c 7"]
