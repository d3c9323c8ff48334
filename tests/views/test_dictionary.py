"""Which series a name means: ours, a framework's, and an evaluation's apart from training's."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.errors import UnknownMetric
from rollscope.views.dictionary import by_our_names

LIVE = {"reward": 1.0, "eval_reward": 2.0}  # as TRL logs, live
TRACKED = {"train/reward": 1.0, "eval/reward": 2.0}  # as TRL logs to W&B and Trackio


def recorded(path: Path, values: dict[str, float]) -> Any:
    with rs.init(id="r", dir=path, framework="trl:grpo@1.16", host=False) as run:
        run.log(values, step=1)
    return rs.open(path).run("r")


@pytest.mark.parametrize("names", list(permutations(["eval_reward", "train/reward", "eval/kl", "kl"])))
def test_trainings_series_stands_for_a_quantity_before_an_evaluations(names: list[str]) -> None:
    logged = {name: m.logged for name, m in by_our_names(names, "trl:grpo").items()}
    assert logged == {"reward/mean": "train/reward", "policy/kl_ref_k3": "kl"}


def test_an_evaluations_series_stands_for_a_quantity_without_another_series() -> None:
    assert by_our_names(["eval_reward"], "trl:grpo")["reward/mean"].logged == "eval_reward"


@pytest.mark.parametrize("values", [LIVE, TRACKED])
@pytest.mark.parametrize(
    ("name", "value"),
    [("reward/mean", 1.0), ("reward", 1.0), ("train/reward", 1.0), ("eval/reward", 2.0), ("eval_reward", 2.0)],
)
def test_an_evaluation_is_read_by_its_own_name_and_never_as_training(
    tmp_path: Path, values: dict[str, float], name: str, value: float
) -> None:
    assert recorded(tmp_path, values).series(name)["value"].tolist() == [value]


def test_training_is_never_read_as_an_evaluation(tmp_path: Path) -> None:
    with pytest.raises(UnknownMetric):
        recorded(tmp_path, {"reward": 1.0}).series("eval_reward")
