"""What a server keeps of the steps of a run lies in files, and every answer is the same."""

from __future__ import annotations

import gc
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rollscope as rs
from rollscope.diagnose import diagnosis
from rollscope.diagnose.reading.case import Case
from rollscope.store.live import paged
from rollscope.store.numbers.step_marks import StepMarks
from rollscope.store.retry import TRIES, retried
from rollscope.store.run import Run
from rollscope.store.seal import logs

NAMES = [f"m/{i}" for i in range(40)]


def write(writer: Any, step: int) -> None:
    rows = [{"id": f"{step}.{i}", "step": step, "task": f"t{i}", "reward": float(i + step % 3)} for i in range(8)]
    writer.rows("samples", rows)
    times = {"step": step, "start_ns": step * 10**9, "end_ns": step * 10**9 + 5 * 10**8}
    writer.rows("spans", [{"name": "generate", "lane": "trainer/0", **times}])
    writer.metrics(step, {name: float(step) for name in NAMES})


def answers(run: Run) -> dict[str, Any]:
    samples = run.samples(columns=["id", "step", "reward"])
    names = ["m/7", "reward/mean", "time/generate"]
    return {
        "series": [run.series(name)["value"].tolist() for name in names],
        "buckets": run.buckets(names, 0, 100, 10)["mean"].tolist(),
        "samples": sorted(zip(*(samples[name].tolist() for name in ("id", "step", "reward")), strict=True)),
        "names": sorted(run.metrics()["name"].tolist()),
        "statistics": sorted(map(repr, run.rollups().to_pylist())),
        "findings": [finding.claim for finding in diagnosis(run).findings],
    }


@pytest.fixture(params=["a folder", "no folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the files are; without such a folder, rows stay in memory."""
    place = tmp_path if request.param == "a folder" else tmp_path / "missing"
    monkeypatch.setattr(paged, "_place", str(place))
    monkeypatch.setattr(paged, "FEWEST", 1)
    return str(request.param)


def test_answers_are_the_same_from_files(world: Any, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = world.writer()
    run = None
    for step in range(120):
        write(writer, step)
        if step % 30 == 29:
            run = run or rs.open(world.root).run("r1")
            run.refresh()
            answers(run)
            paged.drop_pages()
    assert run is not None
    mapped = len(paged._maps)
    assert (mapped > 0) is (place == "a folder") and not list(world.root.glob("tmp*"))
    with monkeypatch.context() as memory:
        memory.setattr(paged, "_place", None)
        expected = answers(rs.open(world.root).run("r1"))
    assert answers(run) == expected
    writer.finish()
    logs.seal(str(world.run))
    run.refresh()
    assert answers(run) == expected
    del run
    gc.collect()
    assert not paged._maps


def test_a_reader_keeps_little_memory_of_each_step(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "_place", str(world.root))
    monkeypatch.setattr(paged, "FEWEST", 4096)
    writer, kept = world.writer(), []
    write(writer, 0)
    run = rs.open(world.root).run("r1")
    tracemalloc.start()
    for until in (128, 512):  # the last step
        for step in range(until // 4 if until > 128 else 1, until):
            write(writer, step)
        writer.log.sync()  # a writer keeps what is not synced
        run.refresh()
        diagnosis(run)
        run.series("reward/mean")
        Case.forget(run)
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes())
    tracemalloc.stop()
    assert (kept[1] - kept[0]) / 384 < 200  # bytes a step: 49 so; 590 when numbers of steps were copied as they grew


def test_pages_are_dropped_while_other_threads_keep_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "_place", str(tmp_path))
    monkeypatch.setattr(paged, "FEWEST", 1)
    kept = [one for _ in range(500) for one in paged.arrays([np.arange(8)])]
    keeping = threading.Thread(target=lambda: [kept.extend(paged.arrays([np.arange(8)])) for _ in range(500)])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        keeping.start()
        while keeping.is_alive():
            paged.drop_pages()
    finally:
        keeping.join()
        sys.setswitchinterval(interval)
    assert len(kept) == 1000 and all((one == np.arange(8)).all() for one in kept)


def test_files_leave_half_of_the_handles_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "_place", str(tmp_path))
    monkeypatch.setattr(paged, "FEWEST", 1)
    gc.collect()
    before = len(paged._maps)
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": 2 * before + 6}.__getitem__)
    kept = [paged.table(pa.table({"a": [number]})) for number in range(9)]
    assert len(paged._maps) == before + 3 and [one["a"].to_pylist() for one in kept] == [[n] for n in range(9)]


def test_a_question_is_asked_again_for_as_long_as_logs_are_sealed_under_it(world: Any) -> None:
    """A run of many ranks has a log sealed every second."""
    writers = [world.writer(number) for number in range(TRIES + 4)]
    for step, writer in enumerate(writers):
        write(writer, step)
    run = rs.open(world.root).run("r1")

    @retried
    def ask(run: Run) -> int:
        if writers:
            writers.pop().finish()
            logs.seal(str(world.run))
            raise FileNotFoundError("the log that was just sealed")
        return len(run.samples(columns=["id"])["id"])

    assert ask(run) == 8 * (TRIES + 4)


@pytest.mark.parametrize(
    ("before", "now", "changed", "gone"),
    [
        ({}, {3: 1, 1: 1}, [1, 3], []),
        ({1: 1, 3: 1}, {1: 1, 3: 2, 4: 1}, [3, 4], []),
        ({1: 1, 3: 1, 9: 1}, {3: 1}, [], [1, 9]),
        ({5: 1}, {}, [], [5]),
    ],
)
def test_steps_that_changed(before: dict[int, int], now: dict[int, int], changed: list[int], gone: list[int]) -> None:
    marks, old = StepMarks.of(now), StepMarks.of(before)
    assert marks.changed_since(old) == changed and marks.gone_since(old) == gone
