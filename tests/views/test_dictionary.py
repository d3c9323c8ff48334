"""Which series of a run a name means: ours, a framework's, and an evaluation's apart from training's."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.errors import UnknownMetric
from rollscope.views.dictionary import by_our_names

LIVE = {"reward": 1.0, "eval_reward": 2.0}  # as TRL logs, live
TRACKED = {"train/reward": 1.0, "eval/reward": 2.0}  # as it reaches W&B and Trackio


def recorded(path: Path, values: dict[str, float]) -> Any:
    with rs.init(id="r", dir=path, framework="trl:grpo@1.16", host=False) as run:
        run.log(values, step=1)
    return rs.open(path).run("r")


@pytest.mark.parametrize("names", list(permutations(["eval_reward", "train/reward", "eval/kl", "kl"])))
def test_trainings_series_stands_for_a_quantity_before_an_evaluations(names: list[str]) -> None:
    found = by_our_names(names, "trl:grpo")
    assert {name: m.logged for name, m in found.items()} == {"reward/mean": "train/reward", "policy/kl_ref_k3": "kl"}


def test_an_evaluations_series_stands_for_a_quantity_that_nothing_else_is() -> None:
    assert by_our_names(["eval_reward"], "trl:grpo")["reward/mean"].logged == "eval_reward"


@pytest.mark.parametrize("values", [LIVE, TRACKED])
@pytest.mark.parametrize(
    ("asked", "answer"),
    [("reward/mean", 1.0), ("reward", 1.0), ("train/reward", 1.0), ("eval/reward", 2.0), ("eval_reward", 2.0)],
)
def test_an_evaluation_is_asked_for_by_name_and_is_never_the_answer_about_training(
    tmp_path: Path, values: dict[str, float], asked: str, answer: float
) -> None:
    assert recorded(tmp_path, values).series(asked)["value"].tolist() == [answer]


def test_training_is_never_the_answer_about_an_evaluation(tmp_path: Path) -> None:
    with pytest.raises(UnknownMetric):
        recorded(tmp_path, {"reward": 1.0}).series("eval_reward")
