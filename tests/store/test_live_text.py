"""Texts of a growing log stay in the log: a reader is small, and still answers with all of them."""

from __future__ import annotations

import os
import random
import resource
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rollscope as rs
from rollscope.store.run import Run
from rollscope.store.seal import logs

STEPS, LENGTH = 120, 30_000


def text_of(step: int, i: int) -> str:
    return f"answer {step}.{i} " + random.Random(step * 10 + i).randbytes(LENGTH // 2).hex()


def write(writer: Any, step: int, samples: int = 2) -> None:
    """Some samples with long texts, one with a lone surrogate, a turn each, and numbers."""
    rows = [{"id": f"{step}.{i}", "step": step, "reward": i, "completion": text_of(step, i)} for i in range(samples)]
    rows[0]["prompt"] = f"odd \ud800 {step}"
    writer.rows("samples", rows)
    writer.rows("turns", [{"sample": f"{step}.0", "turn": 0, "step": step, "content": text_of(step, 0)}])
    writer.metrics(step, {"loss": float(step), "reward/mean": 0.5})
    writer.log.sync()  # a writer keeps what is not synced


def held() -> int:
    """Bytes of Python and of Arrow."""
    return tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()


def answers(run: Run) -> dict[str, Any]:
    """What every door to texts says."""
    some = [f"{step}.1" for step in range(0, STEPS, 50)]
    columns = run.samples(columns=["id", "prompt", "completion"])
    return {
        "all": sorted(zip(*(columns[name].tolist() for name in ("id", "prompt", "completion")), strict=True)),
        "by id": sorted(run.samples(ids=some)["completion"].tolist()),
        "of a step": run.samples(step=7, columns=["completion"])["completion"].tolist(),
        "where": run.samples(where="length(completion) > 10 and step = 3", columns=["id"])["id"].tolist(),
        "one": run.sample("5.0")["prompt"],
        "turns": run.turns("9.0")["content"].tolist(),
        "all turns": sorted(run.turns()["content"].tolist()),
        "search": sorted(hit.id for hit in run.search("answer 11")),
        "odd": [hit.id for hit in run.search("\ud800 17", columns=["prompt"])],
        "sql": run.sql("select sum(length(completion)) as n from samples")["n"].tolist(),
    }


def test_a_reader_of_a_growing_log_holds_no_texts(world: Any) -> None:
    writer = world.writer()
    write(writer, 0)
    run = rs.open(world.root).run("r1")
    run.samples(ids=["0.0"])
    tracemalloc.start()
    try:
        before = held()
        for step in range(1, STEPS):
            write(writer, step)
            run.refresh()
        grown = held() - before
        opened = rs.open(world.root).run("r1")  # all at once, as a server that starts late does
        late = held() - before - grown
    finally:
        tracemalloc.stop()
    texts = 3 * STEPS * LENGTH
    assert grown < texts / 20 and late < texts / 20
    assert run.live_bytes < texts / 20 and opened.last_step == STEPS - 1
    assert answers(run) == answers(opened)


def test_texts_are_the_same_in_the_log_and_sealed(world: Any) -> None:
    writer = world.writer()
    for step in range(STEPS):
        write(writer, step)
    run = rs.open(world.root).run("r1")
    live = answers(run)
    assert dict((id, text) for id, _, text in live["all"])["8.1"] == text_of(8, 1)
    assert live["one"] == "odd \ud800 5" and live["odd"] == ["17.0"] and live["turns"] == [text_of(9, 0)]
    assert live["search"] == sorted(f"{step}.{i}" for step in (11, *range(110, 120)) for i in range(2))
    writer.finish()
    logs.seal(str(world.run))
    assert not list(Path(world.run).glob("*.log"))
    assert answers(run) == live  # this reader has not looked at the folder again


def test_a_search_goes_on_while_its_log_is_sealed(world: Any) -> None:
    writer = world.writer()
    for step in range(STEPS):
        write(writer, step, samples=1)
    run = rs.open(world.root).run("r1")
    hits = run.search("answer")
    found = [next(hits).id]
    writer.finish()
    logs.seal(str(world.run))
    found += [hit.id for hit in hits]
    assert sorted(found) == sorted(f"{step}.0" for step in range(STEPS))
    assert len(list(rs.open(world.root).run("r1").search("answer"))) == STEPS


def test_a_search_through_the_logs_of_many_ranks_needs_few_handles(world: Any) -> None:
    ranks = 160
    for rank in range(ranks):
        writer = world.writer(rank)
        writer.rows("samples", [{"id": f"{rank}", "step": rank, "completion": f"answer {rank}"}])
        writer.finish()
    run = rs.open(world.root).run("r1")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 100, hard))
    try:
        found = [hit.id for hit in run.search("answer")]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == [f"{rank}" for rank in reversed(range(ranks))]


@pytest.mark.parametrize("door", ["a reader", "the sealer"])
def test_a_block_that_rots_after_it_was_scanned_costs_its_texts_alone(world: Any, door: str) -> None:
    writer = world.writer()
    for step in range(4):
        write(writer, step)
    run = rs.open(world.root).run("r1")
    at = Path(writer.path).read_bytes().index(b"answer 2.1")
    with open(writer.path, "r+b") as file:
        file.seek(at)
        file.write(b"ANSWER")
    if door == "a reader":
        rows = run.samples(columns=["id", "reward", "completion"])
        texts = dict(zip(rows["id"].tolist(), rows["completion"].tolist(), strict=True))
        assert texts.pop("2.0") is None and texts.pop("2.1") is None and None not in texts.values()
        assert rows["reward"].tolist() == [0.0, 1.0] * 4
        assert any("cannot be read again" in str(damage) for damage in run.damage)
    else:
        writer.finish()
        logs.seal(str(world.run))
        assert Path(writer.path).exists()  # what could not be read is kept
        assert rs.open(world.root).run("r1").sample("3.1")["completion"] == text_of(3, 1)
