"""For random rows, the second reader and the store agree before, during and after sealing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.partials.histogram import P50
from rollscope.catalog.partials.moments import Std
from rollscope.catalog.partials.partial import Last, Mean, Sum
from rollscope.store.seal import compact, logs
from tests.store import second_answers as answers
from tests.store.conftest import T0, World, Writer
from tests.store.second_reader import Reader
from tests.store.test_format import rows_of, said, same

ODD = (1.0, 0.5, -0.0, math.nan, math.inf, -math.inf)
TEXTS = ("x", "\0", "\ud800", "\udfff \\u0041", "漢 \\")
ASKED: tuple[dict[str, str], ...] = ({}, {"env": "a"}, {"env": "b"}, {"split": "eval"})


def write(w: Writer, step: int, time_ns: int, random: np.random.Generator) -> None:
    """Log what a process might log in a step: twice, under other labels, or as another kind."""

    def some(share: float) -> bool:
        return bool(random.random() < share)

    def values(**partials: Any) -> dict[str, Any]:
        return {"p": float(random.choice(ODD)), **partials}

    x = random.normal(size=int(random.integers(0, 4)))
    x[: some(0.2)] = math.inf
    w.metrics(
        step,
        values(
            m=Mean(float(random.random()), float(random.integers(0, 3))), std=Std.of(x), q=P50.of(x), big=2**60 + step
        ),
        time_ns,
    )
    for share, labels, row in (
        (0.4, {}, values(m=Mean(1.0, 2.0), l=Last(float(random.random()), time_ns), s=Sum(1.0, 0.0))),
        (0.3, {}, {"p": Mean(3.0, 1.0), "big": 1.0}),
        (0.5, {"env": str(random.choice(["a", "b"]))}, values(e=1.0)),
        (0.3, {"split": "eval"}, values(e=2.0, only=1.0)),
    ):
        if some(share):
            w.metrics(step, row, time_ns + int(random.integers(-3, 4)), **labels)
    if some(0.3):
        w.metrics(100 - step, values(c=1.0), time_ns, clock=str(random.choice(["k1", "k2"])))
    choices = {
        "step": step,
        "reward": float(random.choice(ODD)),
        "env": str(random.choice(TEXTS)),
        "completion": str(random.choice(TEXTS)),
        "trained": True,
    }
    choices |= {"extra": {"n": math.nan, "\ud801": [1]}, "token_ids": [1, 2], "logp": [math.nan], "tags": ["x"]}
    samples = [
        {"id": f"s{random.integers(0, 12)}", **{name: value for name, value in choices.items() if some(0.5)}}
        for _ in range(12)
    ]
    w.rows("samples", [{"time_ns": time_ns, **sample} for sample in samples])
    w.rows("findings", [{"rule": "r", "step": step, "claim": str(random.choice(TEXTS)), "evidence": {"a": math.inf}}])
    w.rows("host", [{"time_ns": time_ns, "device": "gpu0", "name": "u", "value": float(random.choice(ODD))}])
    w.rows(
        "turns",
        [{"sample": samples[0]["id"], "turn": 0, "step": step, "content": str(random.choice(TEXTS)), "ok": some(0.5)}],
    )
    if some(0.2):
        w.rotate()


def fill(world: World, seed: int) -> list[Writer]:
    random = np.random.default_rng(seed)
    resumed = [None, int(random.integers(2, 6)) if seed % 2 else None, None][: 1 + seed % 3]
    attempts = [{"attempt": i, "started_ns": 0, "resumed_from": step} for i, step in enumerate(resumed, 1)]
    (world.run / "run.json").write_text(json.dumps({"id": "r1", "attempts": attempts}))
    writers, time_ns = [], T0
    for attempt, step in enumerate(resumed, 1):
        here = [world.writer(10 * attempt + rank, rank=rank, attempt=attempt) for rank in range(1 + seed % 2)]
        first = step + 1 if step is not None else 4 * (attempt - 1)
        for step in range(first, first + 7):
            for writer in here:
                time_ns += 10  # never the same nanosecond twice: the later of two rows would be undefined
                write(writer, step, time_ns, random)
        writers += here
    return writers


def agree(world: World) -> None:
    run, reader = rs.open(world.root).run("r1"), Reader(world.run)
    names = {row["name"] for row in reader.tables["metrics"]}
    assert names == set(run.folder.names())
    for name, asked in ((name, asked) for name in names for asked in ASKED):
        mine, theirs = answers.series(reader, name, **asked), rows_of(run.series(name, **asked))
        assert [(row["step"], row["time_ns"]) for row in mine] == [(row["step"], row["time_ns"]) for row in theirs], (
            name,
            asked,
        )
        wrong = [
            (a, b)
            for a, b in zip(mine, theirs, strict=True)
            if not all(same(a[key], b[key]) for key in ("value", "weight", "min", "max"))
        ]
        assert wrong == [], (name, asked)
    assert said(answers.samples(reader)) == said(rows_of(run.samples()))
    for table in ("metrics", "host", "findings", "turns"):
        mine = reader.tables["metrics"] if table == "metrics" else answers.table(reader, table)
        assert said(mine) == said(rows_of(run.table(table))), table


@pytest.mark.parametrize("seed", range(6))
def test_both_readers_agree(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path)
    writers = fill(world, seed)
    agree(world)
    logs.seal(str(world.run))  # what was rotated
    agree(world)
    for writer in writers:
        writer.finish()
    logs.seal(str(world.run))
    agree(world)
    assert compact.compact(str(world.run), everything=True) == 1
    agree(world)
