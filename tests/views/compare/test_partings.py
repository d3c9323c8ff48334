"""Where two series part, and what differs between two configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.views.compare.partings import parted, partings
from rollscope.views.compare.settings import differences

RNG = np.random.default_rng(3)


def noise(n: int, size: float = 0.1) -> Any:
    return RNG.normal(size=n) * size


trend = np.linspace(0, 3, 200)
bump = np.where((np.arange(200) > 50) & (np.arange(200) < 90), 1.0, 0.0)


@pytest.mark.parametrize(
    ("case", "a", "b"),
    [
        ("the same line", np.linspace(0, 1, 200), np.linspace(0, 1, 200)),
        ("one trend, each with its own noise", trend + noise(200), trend + noise(200)),
        ("nothing but noise", noise(400), noise(400)),
        ("constants that are equal", np.ones(50), np.ones(50)),
        ("apart for a while, and together again", bump + noise(200), noise(200)),
        ("one outlier at the end", np.r_[noise(199), 9.0], noise(200)),
    ],
)
def test_series_stay_together(case: str, a: Any, b: Any) -> None:
    assert parted(a, b) == (None, 0.0), case


@pytest.mark.parametrize("n", [0, 3, 9])
def test_a_few_common_steps_are_too_few_to_tell(n: int) -> None:
    index, distance = parted(np.zeros(n), np.full(n, 5.0))
    assert index is None and np.isnan(distance)


@pytest.mark.parametrize(("at", "how"), [(0, "jump"), (60, "jump"), (140, "jump"), (140, "drift")])
def test_series_part_at_the_step_where_the_difference_begins_to_stay(at: int, how: str) -> None:
    gap = np.zeros(200)
    gap[at:] = 1.0 if how == "jump" else np.linspace(0, 3, 200 - at)
    index, distance = parted(noise(200) + gap, noise(200))
    assert index is not None and at - 10 <= index <= at + 15
    assert 0.2 < distance < 1


def test_only_settings_that_differ_are_named_and_a_missing_one_is_none() -> None:
    one = {"config": {"lr": 1e-6, "model": {"size": "7B"}, "seed": 1}}
    other = {"config": {"lr": 1e-5, "model": {"size": "7B"}}}
    rows = [(row.key, row.values) for row in differences([one, other])]
    assert rows == [("config.lr", (1e-6, 1e-5)), ("config.seed", (1, None))]


def test_runs_of_two_frameworks_meet_under_our_names(tmp_path: Path) -> None:
    for name, framework, key in (("ours", "", "policy/entropy"), ("theirs", "verl@0.9", "actor/entropy")):
        with rs.init(name=name, id=name, dir=tmp_path, framework=framework or None) as run:
            for step in range(100):
                run.log({key: 2.0 - (0.02 * max(0, step - 50) if name == "theirs" else 0.0)}, step=step)
    store = rs.open(tmp_path)
    rows = {row.metric: row for row in partings(store.run("ours"), store.run("theirs"))}
    entropy = rows["policy/entropy"]
    assert entropy.last == pytest.approx((2.0, 1.02)) and entropy.step is not None and 50 <= entropy.step <= 60
