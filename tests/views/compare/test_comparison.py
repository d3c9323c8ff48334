"""Configurations compared over their seeds: groups, the sentence, the noise, and each factor."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.statistics import interval
from rollscope.statistics.noise import noise
from rollscope.views.compare.ablation import ablation
from rollscope.views.compare.comparison import Comparison, compare
from rollscope.views.compare.outcome import Outcome, score_of
from rollscope.views.compare.replicas import groups
from rollscope.views.compare.sentence import floor, verdict

TASKS, SEEDS, STEPS = 200, 3, 60
CONFIGS: dict[str, dict[str, Any]] = {
    "base": {"lr": 1e-6, "clip": 0.2},
    "high": {"lr": 1e-6, "clip": 0.28},
    "fast": {"lr": 2e-6, "clip": 0.2},
}
SKILL = {"base": 0.50, "high": 0.70, "fast": 0.50}


def record(folder: Path, name: str, seed: int) -> None:
    random = np.random.default_rng([seed, *map(ord, name)])
    config = {**CONFIGS[name], "seed": seed, "output_dir": f"out/{name}-{seed}"}
    with rs.init(id=f"{name}-{seed}", dir=folder, project="p", config=config, algorithm="grpo", host=False) as run:
        for step in range(STEPS):
            late = 0.4 if name == "high" and step >= 30 else 0.0
            run.log({"reward/mean": 0.3 + late + random.normal(0, 0.01), "policy/entropy": 1 - step / 100}, step=step)
        right = random.random(TASKS) < SKILL[name]
        rows = [{"task": task, "repeat": 0, "scores": {"correct": float(right[task])}} for task in range(TASKS)]
        run.log_eval("gsm8k", rows, step=STEPS - 1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("project")
    for name in CONFIGS:
        for seed in range(SEEDS):
            record(folder, name, seed)
    yield folder


def compared(folder: Path, one: str, other: str, **more: Any) -> Comparison:
    store = rs.open(folder)
    return compare(store.run(one), store.run(other), store.runs(), store.run, **more)


def test_runs_that_differ_in_seed_and_folder_alone_are_one_group(project: Path) -> None:
    found = {frozenset(ids) for ids in groups(rs.open(project).runs())}
    assert found == {frozenset(f"{name}-{seed}" for seed in range(SEEDS)) for name in CONFIGS}


@pytest.mark.parametrize("config", [None, {}, {"seed": 1}])
def test_runs_without_a_configuration_stand_alone(config: Any) -> None:
    assert groups([{"id": "a", "config": config}, {"id": "b", "config": config}]) == [("a",), ("b",)]


def test_seeds_are_the_unit_and_the_better_one_is_named(project: Path) -> None:
    found = compared(project, "base-0", "high-0")
    (gsm8k,) = found.outcomes
    store = rs.open(project)
    scores = [[score_of(store.run(f"{name}-{seed}"), "gsm8k") for seed in range(SEEDS)] for name in ("base", "high")]
    assert (gsm8k.difference, gsm8k.low, gsm8k.high, gsm8k.p) == pytest.approx(interval.welch(*scores))
    assert gsm8k.unit == "runs" and gsm8k.n == (3, 3) and gsm8k.improvement == 1.0
    assert found.says[0].startswith("B is better on gsm8k by ") and "3 seeds each" in found.says[0]
    first = found.metrics[0]
    assert first.metric == "reward/mean" and first.step is not None and 27 <= first.step <= 30
    assert found.says[1].startswith(f"They part at step {first.step}, first in reward/mean")
    assert [d.key for d in found.settings if d.kind == "setting"] == ["config.clip", "config.output_dir"]


def test_the_other_way_round_says_the_same(project: Path) -> None:
    there, back = compared(project, "base-0", "high-0"), compared(project, "high-0", "base-0")
    assert back.says[0] == there.says[0].replace("B is", "A is")


def test_no_difference_is_said_to_be_none(project: Path) -> None:
    assert compared(project, "base-0", "fast-0").says[0].startswith("No difference beyond noise on gsm8k")


def test_one_run_each_says_that_another_seed_may_differ(project: Path) -> None:
    said = compared(project, "base-0", "high-0", alone=True).says[0]
    assert "one run each, over 200 tasks; another seed may differ" in said


def test_two_seeds_of_one_configuration_are_two_runs(project: Path) -> None:
    found = compared(project, "base-0", "base-1")
    assert found.a.ids == ("base-0",) and found.b.ids == ("base-1",)


def test_the_noise_of_repeats_is_said(project: Path) -> None:
    found = compared(project, "base-0", "high-0")
    assert found.noise_in == "reward/mean" and (found.noise.runs, found.noise.configurations) == (9, 3)
    assert "(9 runs, 3 configurations)" in found.says[2]
    assert "unknown here" in floor(noise([[1.0]]), "reward")


def test_each_factor_has_its_effect(project: Path) -> None:
    store = rs.open(project)
    runs = [store.run(record["id"]) for record in store.runs()]
    found = {effect.change.factor: effect for effect in ablation(runs, lambda run: score_of(run, "gsm8k"))}
    assert found.keys() == {"clip", "lr"}
    assert found["clip"].effect == pytest.approx(0.2, abs=0.07) and found["clip"].low > 0
    assert found["lr"].low < 0 < found["lr"].high and found["lr"].runs_with == 3
    assert ablation(runs[:1], lambda run: 1.0) == [] and ablation(runs, lambda run: math.nan) == []


def outcome(name: str, difference: float, half: float) -> Outcome:
    nan = math.nan
    ends = (0.5, 0.5 + difference, difference - half, difference + half)
    return Outcome(name, "acc", *ends, 0.01 if half < abs(difference) else 0.5, "runs", (3, 3), nan, True)


def test_a_loss_elsewhere_is_not_hidden() -> None:
    said = verdict([outcome("math", 0.05, 0.01), outcome("code", -0.03, 0.01)])
    assert said.startswith("B is better on math by 5.0 points") and said.endswith(", but worse on code.")
    assert "nothing says which is better" in verdict([])
    assert "too little data" in verdict([outcome("math", 0.1, math.nan)])


def test_the_command_says_it_first_and_lists_factors(project: Path, capsys: Any) -> None:
    assert main(["compare", "base-0", "high-0", "--dir", str(project), "--factors", "gsm8k"]) == 0
    text = capsys.readouterr().out
    assert text.index("B is better on gsm8k") < text.index("config.clip") and "Effect on gsm8k" in text
    assert main(["compare", "base-0", "high-0", "--dir", str(project), "--factors", "gsm8k", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["pairs"][0]["evals"][0]["unit"] == "runs" and {f["factor"] for f in answer["factors"]} == {
        "clip",
        "lr",
    }
    assert main(["compare", "base-0", "high-0", "--dir", str(project), "--factors", "nothing"]) == 2
    assert "no setting differs" in capsys.readouterr().err
