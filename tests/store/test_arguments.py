"""A reader accepts its arguments in any reasonable form, and rejects bad ones with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.errors import BadInput
from rollscope.store.seal import logs


@pytest.fixture
def run(world: Any) -> Any:
    w = world.writer()
    for step in range(5):
        w.metrics(step, {"loss": float(step)})
        w.rows("samples", [{"id": f"s{step}", "step": step, "completion": "words"}])
        w.rows(
            "spans",
            [{"id": step, "name": "op", "lane": "trainer/0", "start_ns": step, "end_ns": step + 1, "step": step}],
        )
    return rs.open(world.root).run()


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda run: run.series("loss", points=0), "points must be a whole number of at least 1, not 0"),
        (lambda run: run.series("loss", points="many"), "points must be a whole number of at least 1, not 'many'"),
        (lambda run: run.series("loss", steps="all"), "steps must be"),
        (lambda run: run.series("loss", envs="math"), "series.. does not take 'envs'"),
        (lambda run: run.series(7), "the name of a metric must be texts, and 7 is not one"),
        (lambda run: run.buckets(["loss"], 0, 4, -3), "points must be a whole number of at least 1, not -3"),
        (lambda run: run.samples(limit=-1), "limit must be a whole number of at least 0, not -1"),
        (lambda run: run.samples(step="last"), "step must be a whole number, not 'last'"),
        (lambda run: run.samples(ids=[3]), "ids must be texts, and 3 is not one"),
        (lambda run: run.samples(columns="rewrd"), "no column 'rewrd'"),
        (lambda run: run.spans(step=1.5), "step must be a whole number, not 1.5"),
        (lambda run: run.search("words", limit=-1), "limit must be"),
        (lambda run: run.sql(None), "a query must be a text, not None"),
        (lambda run: run.sql("select 'a \ud800'"), "half of a character, .* at position 10"),
        (lambda run: run.samples(where="env = '\udfff'"), "half of a character"),
    ],
)
def test_a_bad_argument_is_rejected_with_a_sentence(run: Any, ask: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        ask(run)


def test_the_id_of_a_run_is_a_text(world: Any, run: Any) -> None:
    with pytest.raises(BadInput, match="the id of a run must be texts, and 3 is not one"):
        rs.open(world.root).run(3)


def test_a_single_text_stands_for_a_list_of_one(run: Any) -> None:
    assert run.samples(ids="s3", columns="id")["id"].tolist() == ["s3"]
    assert run.spans(lanes="trainer/0")["id"].tolist() == [0, 1, 2, 3, 4]
    assert run.table("spans", columns="name")["name"].tolist() == ["op"] * 5


def test_numbers_of_any_kind_are_numbers(run: Any) -> None:
    assert len(run.series("loss", points=np.int64(2))["step"]) == 2
    assert run.samples(step=np.float64(3), limit=np.int32(1), columns=["id"])["id"].tolist() == ["s3"]


def test_an_evaluation_that_was_never_made_has_no_rows(run: Any) -> None:
    assert run.evals("aime")["set"].tolist() == []


@pytest.mark.parametrize("sealed", [False, True])
def test_names_with_a_lone_surrogate_are_found(world: Any, sealed: bool) -> None:
    half = "half \ud800"
    (world.run / "run.json").write_text(json.dumps({"id": "r1", "name": half}))
    w = world.writer()
    w.rows(
        "samples",
        [
            {"id": half, "step": 1, "completion": f"words and {half}"},
            {"id": "a \\ slash", "step": 1, "completion": "other"},
        ],
    )
    w.rows("spans", [{"id": 1, "name": half, "lane": half, "start_ns": 1, "end_ns": 2}])
    w.finish()
    if sealed:
        logs.seal(str(world.run))
    run = rs.open(world.root).run()
    assert [hit.id for hit in run.search("words")] == [half]
    assert run.sample(half)["completion"] == f"words and {half}"
    assert run.spans(lanes=half)["name"].tolist() == [half]
    assert run.sql("select * from runs")["name"].tolist() == [half]
    assert run.sql("select name, escaped from runs")["name"].tolist() == [half]
    assert run.sql("select count(*) as n from runs")["n"].tolist() == [1]
