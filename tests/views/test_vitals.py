"""Vital signs by kind of run, and the alarms of the catalogue in status and doctor."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.catalog.guidance import SCENARIOS
from rollscope.catalog.spec import METRICS
from rollscope.diagnose import diagnose
from rollscope.store.run import Run
from rollscope.views.dictionary import stored_meanings
from rollscope.views.health.effect import effects
from rollscope.views.health.report import health
from rollscope.views.health.status import Series, status
from rollscope.views.health.trend import Points
from rollscope.views.health.vitals import kind_of, vital_series
from rollscope.views.summary.headline import headline

from .replay import record

ALGORITHM = "algorithm"
RUNS: dict[str, tuple[str, dict[str, Any], list[str]]] = {  # what it is -> kind, facts, names; the first comes first
    "embodied PPO": ("embodied", {ALGORITHM: "ppo"}, ["env/success_once", "env/return/mean", "critic/loss"]),
    "RLinf's own run": (
        "embodied",
        {"framework": "rlinf"},
        ["env/success_once", "env/return", "train/actor/approx_kl"],
    ),
    "TRL PPO": (
        "trl-ppo",
        {"framework": "trl:ppo"},
        ["objective/scores", "objective/rlhf_reward", "objective/kl", "val/ratio", "loss/value_avg"],
    ),
    "DPO": ("dpo", {ALGORITHM: "dpo"}, ["preference/margin/mean", "preference/accuracy", "preference/loss"]),
    "DPO without its algorithm": ("dpo", {}, ["preference/margin/mean", "preference/accuracy"]),
    "KTO": ("kto", {ALGORITHM: "kto"}, ["preference/margin/mean", "preference/kto/kl", "preference/loss"]),
    "reward model": ("reward_model", {ALGORITHM: "reward_model"}, ["reward_model/accuracy", "reward_model/loss"]),
    "SFT": ("sft", {ALGORITHM: "sft"}, ["sft/loss", "sft/token_accuracy", "optimiser/grad_norm"]),
    "SFT without its algorithm": ("sft", {}, ["sft/loss", "sft/token_accuracy"]),
    "distillation": ("distillation", {}, ["distillation/loss/mean", "distillation/overlap", "policy/entropy"]),
    "turns with tools": (
        "agent",
        {ALGORITHM: "grpo"},
        ["reward/generated/mean", "tool/failure_share", "turns/generated/max"],
    ),
    "PPO on text": ("ppo", {ALGORITHM: "ppo"}, ["reward/generated/mean", "critic/loss", "policy/entropy"]),
    "GRPO": ("grpo", {ALGORITHM: "grpo"}, ["reward/generated/mean", "policy/entropy", "policy/kl_ref_k3"]),
    "GRPO that also logs what TRL's PPO shows": (
        "grpo",
        {ALGORITHM: "grpo"},
        ["reward/mean", "policy/entropy", "reward/score_with_kl", "policy/kl_ref_sum", "policy/kl_ref_k3"],
    ),
    "nothing said": ("grpo", {}, ["reward/mean", "policy/entropy"]),
}


def run_of(folder: Path, names: list[str], **facts: Any) -> Run:
    return record(folder, {step: dict.fromkeys(names, 0.5) for step in range(3)}, **facts)


@pytest.mark.parametrize("what", RUNS)
def test_a_run_has_the_vital_signs_of_its_kind(tmp_path: Path, what: str) -> None:
    kind, facts, names = RUNS[what]
    run = run_of(tmp_path, names, **facts)
    meanings = stored_meanings(run)
    assert kind_of(run, meanings).name == kind
    shown = [series[0].logged for series in vital_series(run, meanings)]
    assert shown[0] == names[0] and set(shown) <= set(names) and len(shown) >= 2


def test_tools_that_nobody_calls_make_no_agent(tmp_path: Path) -> None:
    idle = {"reward/mean": 0.5, "critic/loss": 0.5, "tool/calls/mean": 0.0, "tool/failure_share": math.nan}
    run = record(tmp_path, dict.fromkeys(range(3), idle), algorithm="ppo")
    assert kind_of(run, stored_meanings(run)).name == "ppo"


def test_the_reward_of_pairs_is_no_aim(tmp_path: Path) -> None:
    steps = {step: {"reward/mean": 0.9, "preference/margin/mean": step / 20} for step in range(60)}
    run = record(tmp_path, steps, algorithm="dpo")
    trained, _ = effects(run, stored_meanings(run))
    assert trained is not None and trained.better and "Margin rose" in trained.says
    assert headline(run, stored_meanings(run)) == "preference/margin/mean"


def test_another_kind_can_be_chosen(tmp_path: Path) -> None:
    run = run_of(tmp_path, ["reward/mean", "critic/loss", "tool/failure_share", "policy/entropy"])
    agent = {sign["metrics"][0] for sign, _ in health(run, []).signs}
    ppo = {sign["metrics"][0] for sign, _ in health(run, [], kind="ppo").signs}
    assert "tool/failure_share" in agent and "critic/loss" in ppo - agent


def test_every_scenario_watches_names_of_the_catalogue() -> None:
    from rollscope.catalog.names.resolve import lookup

    for scenario in SCENARIOS:
        for watch in scenario.watch:
            assert watch.metric in METRICS or lookup(watch.metric.replace("{", "").replace("}", "")), watch.metric


# ---- alarms


SILENT_ONCE = {  # what was silent once -> its series
    "a gradient norm at forty times its opening": ("optimiser/grad_norm", np.r_[np.full(30, 1.0), np.full(30, 40.0)]),
    "a clip share of 0.9 for sixty steps": ("policy/clip/region", np.full(60, 0.9)),
    "half of the requests aborted": ("length/aborted", np.full(60, 0.5)),
    "ppo_kl from 0.002 to 0.5": ("policy/kl_update_k1", np.r_[np.full(30, 0.002), np.full(30, 0.5)]),
    "turns run out": ("turns/exhausted", np.full(60, 0.6)),
}


@pytest.mark.parametrize("what", SILENT_ONCE)
def test_the_alarm_of_an_entry_is_heard_by_the_doctor_and_on_the_card(tmp_path: Path, what: str) -> None:
    name, values = SILENT_ONCE[what]
    run = record(tmp_path, {step: {name: float(value), "reward/mean": 0.5} for step, value in enumerate(values)})
    assert [f for f in diagnose(run) if f.metrics[:1] == (name,) and f.severity in ("bad", "watch")]
    entry = METRICS.get(name) or METRICS[name.rpartition("/")[0]]
    stat = "" if name in METRICS else name.rpartition("/")[2]
    points = Points(np.arange(len(values)), np.asarray(values, np.float64), len(values) - 1)
    assert status(Series(points, entry, stat, entry.unit))["status"] in ("bad", "watch")


def test_an_alarm_is_heard_under_a_frameworks_name(tmp_path: Path) -> None:
    rows = {step: {"actor/ppo_kl": 0.002 if step < 30 else 0.5} for step in range(60)}
    assert [f.metrics[0] for f in diagnose(record(tmp_path, rows, framework="verl"))] == ["actor/ppo_kl"]


def test_alarms_stay_quiet_for_a_spike_and_for_few_points(tmp_path: Path) -> None:
    spike = {step: {"length/aborted": 0.9 if step == 30 else 0.01} for step in range(60)}
    few = {step: {"length/aborted": 0.9} for step in range(5)}
    assert diagnose(record(tmp_path / "a", spike)) == [] and diagnose(record(tmp_path / "b", few)) == []
