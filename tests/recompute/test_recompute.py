"""Recomputed metrics are what the training logged: from samples alone, once a step, kept beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import RollscopeError
from rollscope.recompute import definitions
from rollscope.recompute.work import blocks

GROUPS, REPEATS, DISCARDED = 3, 4, 2
TOKENS = ("logp", "old_logp", "rollout_logp", "ref_logp", "entropy", "action_mask", "token_advantages")


def samples(step: int) -> list[dict[str, Any]]:
    """The samples of a step as a training records them; the last ones were discarded."""
    chance = np.random.default_rng(step)
    made = []
    for i in range(GROUPS * REPEATS + DISCARDED):
        length, trained = int(chance.integers(3, 9)), i < GROUPS * REPEATS
        reward = float(chance.normal()) if i % 5 else 0.0
        one: dict[str, Any] = {
            "id": f"{step}-{i}",
            "group": f"g{step}-{i % GROUPS}",
            "task": f"t{i % GROUPS}",
            "repeat": i // GROUPS,
            "env": "math",
            "reward": reward,
            "score": reward / 2,
            "trained": trained,
            "rewards": {"format": float(i % 2)},
            "completion_tokens": length,
            "response_tokens": length,
            "prompt_tokens": 5,
            "stop_reason": "stop" if i % 3 else "length",
            "turns": 1,
            "discard_reason": None if trained else "zero_spread",
        }
        if trained:
            for name in TOKENS[:5]:
                one[name] = chance.normal(-1, 0.3, length).astype(np.float32)
            one["action_mask"] = (np.arange(length) % 4 != 3).astype(np.int64)
            one["token_advantages"] = np.full(length, reward, np.float32)
        made.append(one)
    return made


def batch(made: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two batches that a training logs of them: tokens of the trained, facts of all."""
    trained = [one for one in made if one["trained"]]
    tokens: dict[str, Any] = {name: [one[name] for one in trained] for name in TOKENS[:6]}
    tokens |= {"advantages": [one["token_advantages"] for one in trained], "sample": [one["id"] for one in trained]}
    same = ("reward", "score", "group", "task", "repeat", "env", "prompt_tokens", "completion_tokens")
    facts: dict[str, Any] = {name: [one[name] for one in made] for name in (*same, "response_tokens", "turns")}
    facts |= {"sample": [one["id"] for one in made], "trained": [float(one["trained"]) for one in made]}
    facts |= {"discard_reason": [one["discard_reason"] or "" for one in made]}
    facts |= {"stop_reason": [one["stop_reason"] for one in made]}
    return tokens, facts | {"rewards": {"format": [one["rewards"]["format"] for one in made]}}


def record(root: Path, steps: range, **more: Any) -> None:
    with rs.init(dir=str(root), id="r", host=False, **more) as run:
        for step in steps:
            made = samples(step)
            run.log_samples(step=step, samples=made)
            for one in batch(made):
                run.log_batch(one, step=step)
            run.commit(step)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    record(tmp_path / "runs", range(1, 6))
    return tmp_path / "runs"


def recomputed(runs: Path, *words: str) -> int:
    return main(["recompute", *words, "--runs", "r", "--workers", "1", "--dir", str(runs)])


def possible(names: list[str]) -> list[str]:
    """The logged names that samples can give again."""
    found = []
    for name in names:
        try:
            definitions.entries((name,))
            found.append(name)
        except RollscopeError:
            continue
    return found


def test_every_metric_that_samples_can_give_is_what_the_training_logged(runs: Path) -> None:
    run = rs.open(runs).run("r")
    logged = {name: run.series(name) for name in run.metrics()["name"] if run.is_stored(name)}
    names = possible(list(logged))
    assert len(names) > 400 and {"reward/trained/mean", "policy/entropy"} <= {*names}
    assert recomputed(runs, *names) == 0
    run = rs.open(runs).run("r")
    for name in names:
        again = run.series(f"recomputed/{name}")
        np.testing.assert_array_equal(again["step"], logged[name]["step"], err_msg=name)
        np.testing.assert_allclose(  # sums are made in another order
            again["value"], logged[name]["value"], rtol=1e-6, atol=1e-9, err_msg=name
        )
        assert run.series(name)["value"].tobytes() == logged[name]["value"].tobytes()  # kept beside, not over


def test_a_second_call_computes_new_steps_and_all_after_a_change(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recomputed(runs, "entropy") == 0  # the name of another framework
    assert "See recomputed/policy/entropy" in capsys.readouterr().out
    assert recomputed(runs, "reward", "--json") == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["steps"], said["failed"]) == (5, 0)
    assert recomputed(runs, "reward") == 0
    assert "no step is new" in capsys.readouterr().out
    record(runs, range(6, 8), resume="must")
    assert recomputed(runs, "reward") == 0
    assert "2 steps computed" in capsys.readouterr().out
    code = definitions.code_of(("reward",))
    assert code != definitions.code_of(("score",)) and code == definitions.code_of(("reward",))
    monkeypatch.setattr("rollscope.recompute.work.code_of", lambda names: "0" * 16)  # as after an edit
    assert recomputed(runs, "reward") == 0
    assert "7 steps computed" in capsys.readouterr().out
    run = rs.open(runs).run("r")
    assert len(run.series("recomputed/reward/trained/mean")["step"]) == 7
    assert run.samples(ids=["1-0"])["reward"][0] == samples(1)[0]["reward"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("reward/trained/maen", "reward/trained/mean"),
        ("counter/samples", "counter/samples counts from the start of a run to its end"),
        ("perf/steps_per_second/run", "only metrics that rs.compute makes can be recomputed"),
        ("loss/dpo", "loss/dpo needs .*chosen_logp.*, which the samples of a run do not hold"),
    ],
)
def test_what_samples_do_not_hold_is_said_before_anything_starts(runs: Path, name: str, says: str) -> None:
    with pytest.raises(RollscopeError, match=says):
        definitions.entries((name,))


def test_blocks_end_where_steps_end(runs: Path) -> None:
    run = rs.open(runs).run("r")
    assert blocks(run, set(), size=30) == [(1, 2), (3, 4), (5,)]
    assert blocks(run, {2, 3}, size=1) == [(1,), (4,), (5,)]
