"""Samples: rows with the same id are one sample, and any question can be asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.errors import BadInput, NotFound
from rollscope.store.seal import logs
from rollscope.store.sealed import parquet


def test_a_later_row_fills_in_what_was_missing(world: Any) -> None:
    w = world.writer()
    w.rows(
        "samples",
        [
            {"id": "s1", "step": 1, "time_ns": 5, "prompt": "2+2?", "completion": "4"},
            {"id": "s2", "step": 1, "completion": "x"},
        ],
    )
    w.rows("samples", [{"id": "s1", "step": 1, "time_ns": 9, "reward": 1.0, "rewards": {"format": 0.5}}])
    w.rows("samples", [{"id": "s1", "trained": True}])
    found = rs.open(world.root).run().samples(where="id = 's1'")
    assert found["id"].tolist() == ["s1"]
    assert (found["prompt"][0], found["reward"][0], found["trained"][0], found["rewards"][0]) == (
        "2+2?",
        1.0,
        True,
        {"format": 0.5},
    )
    assert found["time_ns"][0] == 5


def test_samples_are_chosen_ordered_and_cut(world: Any) -> None:
    w = world.writer()
    w.rows("samples", [{"id": f"s{i}", "step": i % 3, "reward": float(i)} for i in range(30)])
    run = rs.open(world.root).run()
    best = run.samples(where="reward > 5", order_by="reward desc", limit=3, columns=["id", "reward"])
    assert best["reward"].tolist() == [29.0, 28.0, 27.0]
    assert list(best) == ["id", "reward"]
    assert run.samples(step=2, columns=["step"])["step"].tolist() == [2] * 10
    assert run.sample("s7")["reward"] == 7.0


def test_questions_that_cannot_be_answered_are_sentences(world: Any) -> None:
    world.writer().rows("samples", [{"id": "s1"}])
    run = rs.open(world.root).run()
    with pytest.raises(BadInput, match="no column 'rewrd' in samples"):
        run.samples(columns=["rewrd"])
    with pytest.raises(NotFound, match="no sample 's2'"):
        run.sample("s2")
    with pytest.raises(BadInput, match="failed"):
        run.samples(where="nonsense > 1")


def test_a_resumed_run_shows_the_samples_of_its_newest_attempt(world: Any) -> None:
    first, second = world.writer(1), world.writer(2, attempt=2)
    for step in range(4):
        first.metrics(step, {"a": 1.0})
        first.rows("samples", [{"id": f"old{step}", "step": step}])
    second.metrics(2, {"a": 1.0})
    second.rows("samples", [{"id": "new2", "step": 2}])
    assert sorted(rs.open(world.root).run().samples()["id"]) == ["new2", "old0", "old1"]


def test_odd_text_comes_back_bit_for_bit(world: Any) -> None:
    texts = ["lone \ud800 surrogate \\ and slash", "nul \0 inside", "", "plain \\u0041", "emoji 🙂" * 1000]
    world.writer().rows("samples", [{"id": f"s{i}", "step": 0, "completion": text} for i, text in enumerate(texts)])
    assert rs.open(world.root).run().samples()["completion"].tolist() == texts


def test_a_null_is_not_a_nan(world: Any) -> None:
    world.writer().rows(
        "samples", [{"id": "a", "turns": 3, "reward": np.nan, "trained": False}, {"id": "b", "stop_reason": "length"}]
    )
    found = rs.open(world.root).run().samples()
    assert found["turns"][0] == 3 and np.isnan(found["turns"][1])
    assert found["trained"].tolist() == [False, None]
    assert found["stop_reason"].tolist() == [None, "length"]
    arrow = rs.open(world.root).run().samples(as_arrow=True)
    assert arrow["reward"].null_count == 1


def test_spans_are_found_by_time_lane_and_step(world: Any) -> None:
    w = world.writer()
    w.rows(
        "spans",
        [
            {
                "id": i,
                "name": "op",
                "lane": f"trainer/{i % 2}",
                "start_ns": 10 * i,
                "end_ns": 10 * i + 5,
                "step": i // 4,
            }
            for i in range(12)
        ],
    )
    run = rs.open(world.root).run()
    assert run.spans(lo_ns=25, hi_ns=40)["id"].tolist() == [2, 3, 4]
    assert run.spans(lanes=["trainer/1"], step=0)["id"].tolist() == [1, 3]


def test_the_turns_of_some_samples_are_those_of_all_that_are_theirs(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several row groups, in a live log, of an abandoned attempt, in a row group that fails."""
    monkeypatch.setattr(parquet, "ROWS", {"turns": 50})
    monkeypatch.setattr(parquet, "TEXT_ROWS", 20)
    first = world.writer(1)
    first.rows(
        "turns",
        [
            {"sample": f"s{i % 40}", "step": i % 40 // 10, "turn": i // 40, "role": "tool", "content": f"{i} " * 20}
            for i in range(400)
        ],
    )
    first.rotate()
    logs.seal(str(world.run))
    first.rows(
        "turns",
        [
            {"sample": "s3", "step": 0, "turn": 10, "role": "assistant", "content": "live \ud800"},
            {"sample": "\udfff", "step": 0, "turn": 0, "content": "odd"},
        ],
    )
    second = world.writer(2, attempt=2)
    second.metrics(3, {"a": 1.0})
    second.rows("turns", [{"sample": "s35", "step": 3, "turn": 0, "content": "again"}])
    _same_turns(world)
    file = next(world.run.glob("*.sealed/turns.text.parquet"))
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    _same_turns(world)


def _same_turns(world: Any) -> None:
    every = rs.open(world.root).run().turns()
    for ids in (["s3"], ["s39", "s3", "\udfff"], ["s35", "none"], []):
        some, mine = rs.open(world.root).run().turns(ids), np.isin(every["sample"].astype(str), ids)
        assert len(some["sample"]) == mine.sum() and (mine.any() or not ids)
        for name in every:
            assert [repr(v) for v in some[name]] == [repr(v) for v in every[name][mine]], (ids, name)
