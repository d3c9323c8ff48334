"""Stages of a step: veRL's timing metrics, and the frameworks' words for each stage."""

from __future__ import annotations

import math

import pytest

import rollscope as rs
from rollscope.catalog.names.operations import OPERATIONS, canonical
from rollscope.errors import BadBatch

from .verl_step import LENGTHS, VERL, agrees


def test_verls_timing_in_seconds_and_per_token() -> None:
    assert agrees(rs.rename(rs.compute({**LENGTHS, "seconds": VERL["seconds"]}), "verl"), VERL["timing"])


def test_seconds_may_come_in_our_words() -> None:
    theirs = rs.compute({**LENGTHS, "seconds": VERL["seconds"]})
    ours = rs.compute({**LENGTHS, "seconds": {canonical(word): s for word, s in VERL["seconds"].items()}})
    assert {k: v.value for k, v in ours.items()} == {k: v.value for k, v in theirs.items()}


def test_parts_of_a_step_share_its_seconds() -> None:
    """Two ranks report the same step: tokens add, seconds do not."""
    whole = rs.compute({**LENGTHS, "seconds": VERL["seconds"]})
    halves = [
        rs.compute({k: v[half] for k, v in LENGTHS.items()} | {"seconds": VERL["seconds"]})
        for half in (slice(0, 5), slice(5, 16))
    ]
    for name in whole:
        if name.startswith("time"):
            assert (halves[0][name] + halves[1][name]).value == pytest.approx(whole[name].value), name
            assert (halves[1][name] + halves[0][name]).value == pytest.approx(whole[name].value), name


def test_the_slowest_rank_is_the_steps_time() -> None:
    fast, slow = rs.compute({"seconds": {"step": 3.0}}), rs.compute({"seconds": {"step": 5.0}})
    assert (fast["time/step"] + slow["time/step"]).value == 5.0


def test_no_tokens_are_no_time_per_token() -> None:
    metrics = rs.compute({"prompt_tokens": [0], "response_tokens": [0], "seconds": {"gen": 2.0}})
    assert math.isnan(metrics["time_per_token/generate"].value) and metrics["time_per_token/generate"].weight == 0


def test_words_of_one_stage_add_up() -> None:
    assert rs.compute({"seconds": {"update_weights": 1.0, "param_sync": 0.5}})["time/sync_weights"].value == 1.5


def test_an_unknown_stage_keeps_its_name() -> None:
    metrics = rs.compute({"seconds": {"my_stage": 1.0}})
    assert metrics["time/my_stage"].value == 1.0 and rs.rename(metrics, "verl") == {"timing_s/my_stage": 1.0}


@pytest.mark.parametrize(
    ("seconds", "says"),
    [({"gen": "fast"}, "number of seconds"), ([1.0], "mapping from a stage")],
    ids=["a word", "a list"],
)
def test_an_error_names_the_wrong_seconds(seconds: object, says: str) -> None:
    with pytest.raises(BadBatch, match=says):
        rs.compute({"seconds": seconds})


def test_a_stage_without_a_reading_is_left_out() -> None:
    assert set(rs.compute({"seconds": {"gen": None, "step": 2.0}})) == {"time/step"}


@pytest.mark.parametrize(
    ("word", "stage"),
    [
        ("GRPOTrainer.vLLM.generate", "generate"),
        ("RLOOTrainer.transformers.generate", "generate"),
        ("MyTrainer.sync_weights", "sync_weights"),
        ("evaluate/GRPOTrainer.vLLM.generate", "evaluate/GRPOTrainer.vLLM.generate"),
        ("Worker.sync_weights", "Worker.sync_weights"),
        ("GRPOTrainer.my_reward", "GRPOTrainer.my_reward"),
    ],
    ids=["of the engine", "of transformers", "weights", "in an evaluation", "of another class", "a reward function"],
)
def test_a_part_that_trl_times_is_the_stage(word: str, stage: str) -> None:
    assert canonical(word) == stage


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_every_stage_is_found_under_every_word(operation: object) -> None:
    for who, word in operation.theirs:  # type: ignore[attr-defined]
        assert canonical(word) == operation.name  # type: ignore[attr-defined]
        spelled = {
            "verl": "timing_s/{}",
            "openrlhf": "timing/{}",
            "rlinf": "time/{}",
            "trinity": "time/{}",
            "telescope": "timing_{}_total",
            "trl": "{}",
        }[who.partition(":")[0]]
        framework, _, rest = who.partition(":")
        trainer, _, versions = rest.partition("@")
        dialect = framework + (f":{trainer}" if trainer else "") + ("@1.10" if versions else "")
        match = rs.explain(spelled.format(word), dialect)
        assert match.entry.name == f"time/{operation.name}", (who, word)  # type: ignore[attr-defined]
