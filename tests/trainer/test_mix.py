"""Several environments and evaluation sets in one run, and what an environment may return."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.errors import BadInput
from rollscope.trainer import config
from rollscope.trainer.environment import Task
from rollscope.trainer.environments.mix import TaskOrder
from rollscope.trainer.train import train

from .conftest import table, trained

EASY = {"name": "sorting", "label": "short", "train_tasks": 50, "weight": 2.0, "options": {"length": 2}}
HARD = {"name": "sorting", "label": "long", "train_tasks": 50, "weight": 1.0, "options": {"length": 3}}
GAME = {"name": "guessing", "train_tasks": 50, "weight": 3.0, "options": {"largest": 5}}
SETS = [
    {"name": "held-out", "environment": "short", "tasks": 4, "detailed": True},
    {
        "name": "harder",
        "environment": "sorting",
        "options": {"length": 4},
        "tasks": 3,
        "every": 2,
        "scores": ["in_place"],
    },
]


def mixed(**more):
    sections = table(model={"context": 48}, rollout={"groups_per_step": 6, "max_completion_tokens": 12}, **more)
    del sections["environment"]
    return sections | {"environments": [EASY, HARD, GAME]}


@pytest.fixture(scope="module")
def mix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mix")
    rollout = {"discard_group_zero_advantage": False}
    built = mixed(run={"steps": 4, "sinks": ["jsonl"]}, evaluation={"every": 4, "tasks": 3, "sets": SETS})
    built["rollout"] |= rollout
    return trained(built, folder)


def test_groups_come_from_the_environments_by_weight(mix):
    rows = mix.reader.samples(where="split = 'train'", columns=["env", "trained"])
    assert Counter(rows["env"]) == {"short": 32, "long": 16, "guessing": 48}


def test_each_environment_has_its_metrics_and_its_declared_range(mix):
    declared = mix.reader.declared["environments"]
    assert declared["guessing"]["metrics_ranges"] == {"accuracy": [0.0, 1.0]} and declared["long"]["reward_max"] == 1.0
    rows = mix.reader.samples(step=0, where="split = 'train'", columns=["env", "reward"])
    for env in ("short", "long", "guessing"):
        own = rows["reward"][rows["env"] == env]
        where = f"name = 'reward/generated/mean' AND env = '{env}' AND step = 0"
        series = mix.reader.sql(f"SELECT value FROM metrics WHERE {where}")
        assert series["value"][0] == pytest.approx(np.mean(own))
    golden = mix.reader.samples(where="env = 'long'", columns=["answer"])["answer"]
    assert all(len(answer) == 3 for answer in golden)


def test_evaluation_sets_have_their_own_tasks_scores_and_details(mix):
    names = set(mix.reader.metrics()["name"])
    for score in ("acc", "reward", "in_place", "exact"):
        assert f"eval/held-out/{score}/mean@2" in names
    assert "eval/held-out/acc/mean@2/std" in names and "eval/harder/in_place/mean@2/std" not in names
    assert "eval/harder/in_place/mean@2" in names and "eval/harder/acc/mean@2" not in names
    assert set(mix.values("eval/held-out/acc/mean@2")) == {0, 4}
    assert set(mix.values("eval/harder/in_place/mean@2")) == {0, 2, 4}
    rows = mix.reader.evals()
    tasks = {name: set(rows["task"][rows["set"] == name]) for name in ("held-out", "harder")}
    assert len(tasks["held-out"]) == 4 and len(tasks["harder"]) == 3
    assert all(len(task) == len("sort abcd:") for task in tasks["harder"])


def test_sinks_of_the_configuration_are_written(mix):
    paths = list(Path(mix.reader.folder.path).rglob("*.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    assert any("reward/generated/mean" in json.dumps(line) for line in lines)


def test_without_sets_each_environment_is_evaluated(tmp_path):
    short = mixed(run={"steps": 1}, warmup={"steps": 5}, evaluation={"every": 1, "tasks": 2, "repeats": 1})
    short["rollout"]["discard_group_zero_advantage"] = False
    run = trained(short, tmp_path)
    assert {"short-eval", "long-eval", "guessing-eval"} == set(run.reader.evals()["set"])


def test_the_order_of_tasks_can_be_skipped_into():
    tasks = {"a": [Task(f"a{i}") for i in range(3)], "b": [Task(f"b{i}") for i in range(5)]}
    whole, later = (TaskOrder(tasks, {"a": 1.0, "b": 3.0}, seed=1) for _ in range(2))
    drawn = [whole.next().prompt for _ in range(40)]
    assert Counter(prompt[0] for prompt in drawn) == {"a": 10, "b": 30}
    assert Counter(prompt for prompt in drawn if prompt[0] == "b") == {f"b{i}": 6 for i in range(5)}
    later.skip(13)
    assert [later.next().prompt for _ in range(27)] == drawn[13:]


def test_pairs_come_from_all_environments(tmp_path):
    short = table(algorithm={"name": "dpo"}, run={"steps": 1}, rollout={"groups_per_step": 16})
    del short["environment"]
    run = trained(short | {"environments": [EASY, HARD]}, tmp_path)
    assert set(run.reader.samples(columns=["env"])["env"]) == {"short", "long"}


@pytest.mark.parametrize("workers", [0, 1])
def test_facts_among_sample_metrics_are_kept_and_never_end_training(tmp_path, workers):
    environment = {"name": "tests/trainer/broken_parts.py:Talkative", "train_tasks": 50}
    rollout = {"workers": workers, "discard_group_zero_advantage": False}
    run = trained(table(environment=environment, run={"steps": 2}, rollout=rollout), tmp_path)
    assert run.reader.record()["state"] == "finished"
    facts = run.reader.samples(where="split = 'train'", columns=["completion", "sample_metrics"])
    text, kept = facts["completion"][0], facts["sample_metrics"][0]
    assert kept["judge"] == f"it says {text!r}" and kept["characters"] == list(text)
    assert kept["verdict"] == {"by": "rule", "parts": [1, 2]} and "lock" in kept["lock"]
    names = {name for name in run.finite if name.startswith("sample_metric/")}
    assert {"sample_metric/letters/generated/mean", "sample_metric/right/generated/mean"} <= names
    assert not {name for name in names if name.split("/")[1] in ("judge", "characters", "verdict", "lock", "nothing")}


def test_a_backend_declares_the_ranges_of_its_metrics(tmp_path):
    algorithm = {"backend": "tests/trainer/broken_parts.py:Ranged"}
    run = trained(table(algorithm=algorithm, run={"steps": 1}, evaluation={"every": 0}), tmp_path)
    assert run.reader.declared["ranges"] == {"custom/share/first": [0.0, 1.0]}
    assert run.last["custom/share/first"] == 0.25


@pytest.mark.parametrize(
    "change, says",
    [
        ({"environments": [EASY, EASY]}, "two environments are called 'short': give one of them another label"),
        ({"environments": [EASY | {"weight": 0}]}, r"environments\[0\].weight = 0.0 must be above 0"),
        ({"environments": [EASY], "environment": {}}, r"has \[environment\] and \[\[environments\]\]"),
        ({"environments": [EASY, {"name": "gym"}]}, "a Gymnasium environment is trained on alone"),
        ({"evaluation": {"sets": [SETS[0] | {"environment": "shrt"}]}}, "no environment 'shrt' for an evaluation set"),
        ({"evaluation": {"sets": [{"name": "x"}]}, "environments": [EASY], "sinks": []}, r"It belongs into \[run\]"),
        ({"evaluation": {"sets": [SETS[0], SETS[0]]}}, "two evaluation sets are called 'held-out'"),
    ],
)
def test_a_wrong_mix_is_answered_with_a_sentence(tmp_path, change, says):
    with pytest.raises(BadInput, match=says):
        train(config.build(mixed() | change), dir=tmp_path)
    assert not list(tmp_path.iterdir()) and rs.open(tmp_path).runs() == []
