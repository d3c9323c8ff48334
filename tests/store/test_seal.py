"""Sealing and merging change where rows lie, and nothing else."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import rollscope as rs
from rollscope.catalog.partials.moments import Std
from rollscope.catalog.partials.partial import Mean
from rollscope.store.seal import compact, logs, streams


def fill(world: Any, writers: int = 2, logs: int = 3, steps: int = 40) -> None:
    rng = np.random.default_rng(0)
    for number in range(writers):
        w = world.writer(number + 1, rank=number)
        for log in range(logs):
            for step in range(log * steps, (log + 1) * steps):
                w.metrics(
                    step,
                    {
                        "plain": step + number / 7,
                        "share": Mean(float(rng.integers(9)), 10.0),
                        "std": Std.of(rng.normal(size=5)),
                        "n": 2**60 + step,
                    },
                )
                w.metrics(step, {"odd": math.nan if step % 7 == 0 else math.inf if step % 11 == 0 else 1.0})
            rows = [
                {
                    "id": f"s{number}-{log}-{i}",
                    "step": log * steps + i % steps,
                    "reward": float(i),
                    "completion": f"text {i} \ud800" if i == 3 else f"text {i}",
                }
                for i in range(50)
            ]
            w.rows("samples", rows)
            w.rows("samples", [{"id": f"s{number}-{max(log - 1, 0)}-7", "trained": True}])
            w.rows(
                "spans",
                [{"id": i, "name": "op", "lane": "trainer/0", "start_ns": i, "end_ns": i + 1} for i in range(20)],
            )
            w.rows("notes", [{"step": 1, "text": f"note {log}"}])
            w.rotate()


def everything(world: Any) -> dict[str, Any]:
    run = rs.open(world.root).run("r1")
    found: dict[str, Any] = {name: run.series(name) for name in run.folder.names()}
    found["per rank"] = run.series("plain", rank=1)
    found["buckets"] = run.series("plain", points=7)
    samples = run.samples(order_by="id")
    found["samples"] = {key: values.tolist() for key, values in samples.items() if key not in ("writer",)}
    found["one step"] = sorted(run.samples(step=7)["id"])
    found["spans"] = sorted(run.spans()["start_ns"].tolist())
    found["notes"] = sorted(run.notes()["text"])
    found["sql"] = run.sql("select count(*) as n, sum(value) as s from metrics where isfinite(value)")
    found["metrics"] = {k: v.tolist() for k, v in run.metrics().items()}
    assert run.damage == []
    return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return len(a) == len(b) and all(map(same, a.tolist(), b.tolist()))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (
        isinstance(a, float)
        and isinstance(b, float)
        and (math.isclose(a, b, rel_tol=1e-14) or (math.isnan(a) and math.isnan(b)))
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda run: run.record(),
        lambda run: run.facts,
        lambda run: run.state,
        lambda run: run.verify(),
        lambda run: run.notes(),
    ],
)
def test_a_run_whose_sets_are_merged_after_it_was_opened_still_says_what_it_is(world: Any, ask: Any) -> None:
    for number in (1, 2):
        w = world.writer(number)
        w.rows("runs", [{"state": "finished"}])
        w.rows("notes", [{"step": 1, "text": "a note"}])
        w.finish()
    logs.seal(str(world.run))
    opened, expected = rs.open(world.root).run("r1"), ask(rs.open(world.root).run("r1"))
    assert compact.compact(str(world.run), everything=True) == 1
    assert same(expected, ask(opened))


def test_pieces_of_any_size_make_the_same_set(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(world)
    live = everything(world)
    statistics = sorted(map(repr, rs.open(world.root).run("r1").rollups().to_pylist()))
    monkeypatch.setattr(streams, "METRIC_ROWS", 50)  # less than a name has
    monkeypatch.setattr(streams, "BYTES", 700)  # a few samples
    logs.seal(str(world.run))
    assert compact.compact(str(world.run), everything=True) == 1
    for name, before in live.items():
        assert same(before, everything(world)[name]), name
    small = rs.open(world.root).run("r1")
    assert len(small.folder.sets[0].files["samples.text.parquet"].groups) > 20
    assert sorted(map(repr, small.rollups().to_pylist())) == statistics


def test_a_damaged_set_is_left_as_it_is_and_the_others_are_merged(world: Any) -> None:
    fill(world)
    logs.seal(str(world.run))
    broken = sorted(world.run.glob("*.sealed"))[2] / "metrics.parquet"
    raw = bytearray(broken.read_bytes())
    raw[100] ^= 1
    broken.write_bytes(raw)
    before = len(rs.open(world.root).run("r1").series("plain")["step"])
    assert compact.compact(str(world.run), everything=True) == 2
    run = rs.open(world.root).run("r1")
    assert len(run.series("plain")["step"]) == before
    assert [damage.path for damage in run.damage] == [str(broken)]


def test_sealing_a_large_run_takes_little_memory(tmp_path: Path) -> None:
    """Twenty-four logs of 8 MB each:
    what was all in memory at once is now at most a piece of one log.
    """
    code = f"""
import json, pathlib, resource, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import numpy as np
from rollscope.store.seal import compact, streams
from rollscope.store.seal.logs import seal
from tests.store.conftest import World
world = World(pathlib.Path({str(tmp_path)!r}))
writer = world.writer()
letters = np.random.default_rng(0).integers(97, 123, 8_000_000, dtype=np.uint8).tobytes().decode()
for log in range(24):
    texts = [letters[i * 4000 : i * 4000 + 4000] for i in range(2000)]
    writer.rows("samples", [dict(id=f"{{log}}-{{i}}", step=log, completion=text) for i, text in enumerate(texts)])
    writer.rotate()
del letters
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seal(str(world.run))
compact.compact(str(world.run), everything=True)
print(json.dumps((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) < 400, "MB beyond what writing took, for 192 MB of text"
    assert len(rs.open(tmp_path).run().samples(columns=["id"])["id"]) == 48_000


def test_sealing_and_merging_change_no_answer(world: Any) -> None:
    fill(world)
    live = everything(world)
    assert logs.seal(str(world.run)) == 6
    assert not [p for p in world.run.glob("*.log") if p.stat().st_size > 400]  # the two that are still open
    for name, before in live.items():
        assert same(before, everything(world)[name]), name
    assert compact.compact(str(world.run), everything=True) == 1
    for name, before in live.items():
        assert same(before, everything(world)[name]), name


def test_sealing_twice_is_sealing_once(world: Any) -> None:
    fill(world, 1, 2)
    assert logs.seal(str(world.run)) == 2
    assert logs.seal(str(world.run)) == 0


def test_of_a_log_and_its_set_the_set_wins(world: Any) -> None:
    fill(world, 1, 1)
    before = everything(world)
    log = next(iter(world.run.glob("*.0000.log")))
    raw = log.read_bytes()
    logs.seal(str(world.run))
    log.write_bytes(raw)  # as if the sealer had been killed between rename and unlink
    assert same(before, everything(world))


def test_a_log_may_be_removed_while_it_is_looked_at(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(world, 1, 1)
    before = everything(world)
    log = next(iter(world.run.glob("*.0000.log")))
    raw, size_of = log.read_bytes(), os.path.getsize
    logs.seal(str(world.run))
    log.write_bytes(raw)  # the set stands, and its sealer is about to remove the log

    def removed(path: Any) -> int:
        log.unlink(missing_ok=True)
        return size_of(path)

    monkeypatch.setattr(os.path, "getsize", removed)
    run = rs.open(world.root).run("r1")
    monkeypatch.undo()
    assert run.series("plain")["value"].tolist() == before["plain"]["value"].tolist() and not log.exists()


def test_a_log_that_grew_after_it_was_sealed_loses_nothing(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0})
    raw = w.path.read_bytes()
    logs.seal_log(str(world.run), str(w.path))
    w.path.write_bytes(raw)
    os.close(w.log._fd)
    w.log._fd = os.open(w.path, os.O_RDWR | os.O_APPEND)
    w.metrics(1, {"a": 2.0})
    assert rs.open(world.root).run().series("a")["value"].tolist() == [1.0, 2.0]


def test_a_merge_that_was_killed_before_it_cleaned_up_doubles_nothing(world: Any, tmp_path: Path) -> None:
    fill(world)
    before = everything(world)
    logs.seal(str(world.run))
    kept = {path: path.read_bytes() for path in world.run.rglob("*.sealed/*")}
    compact.compact(str(world.run), everything=True)
    for path, raw in kept.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
    assert same(before, everything(world))
    assert compact.compact(str(world.run)) == 1
    assert len(list(world.run.glob("*.sealed"))) == 1


def test_a_reader_follows_logs_into_their_sets(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0})
    run = rs.open(world.root).run()
    w.rotate()
    w.metrics(1, {"a": 2.0})
    logs.seal(str(world.run))
    assert run.refresh()
    assert run.series("a")["value"].tolist() == [1.0, 2.0]
    assert len(run.folder.sets) == 1


def test_a_forgotten_half_of_a_set_is_not_read(world: Any) -> None:
    fill(world, 1, 1)
    before = everything(world)
    aside = world.run / ".aside-0123"
    aside.mkdir()
    (aside / "metrics.parquet").write_bytes(b"half")
    assert same(before, everything(world))
    old = 1_000_000_000
    os.utime(aside, (old, old))
    logs.seal(str(world.run))
    assert not aside.exists()


def test_full_tiers_are_merged_and_a_run_has_few_sets(world: Any) -> None:
    for number in range(20):
        w = world.writer(number + 1)
        w.metrics(number, {"a": float(number)})
        w.finish()
    logs.main([str(world.run)])
    assert len(list(world.run.glob("*.sealed"))) < 8
    assert rs.open(world.root).run().series("a")["value"].tolist() == [float(i) for i in range(20)]


def test_two_sealers_at_once_lose_and_double_nothing(world: Any) -> None:
    import threading

    fill(world)
    before = everything(world)
    threads = [
        threading.Thread(target=lambda: (logs.seal(str(world.run)), compact.compact(str(world.run), everything=True)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(before, everything(world))


def test_of_long_texts_few_lie_in_a_row_group(world: Any) -> None:
    """A sample is read with the row group it lies in, so 20 kB beside a thousand others must not
    cost 20 MB.
    """
    w = world.writer()
    sizes = [20_000] * 900 + [9 << 20] + [10] * 2500
    w.rows(
        "samples",
        [{"id": f"s{i}", "step": i // 500, "completion": f"{i} " + "x" * size} for i, size in enumerate(sizes)],
    )
    w.rotate()
    logs.seal(str(world.run))
    file = next(world.run.glob("*.sealed/samples.text.parquet"))
    found = pq.ParquetFile(file).metadata
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    assert sum(g.num_rows for g in groups) == len(sizes) and all(g.num_rows <= 1000 for g in groups)
    assert all(g.total_byte_size < 4.1 * 2**20 or g.num_rows == 1 for g in groups) and len(groups) < 30
    run = rs.open(world.root).run()
    assert [len(t) for t in run.samples(ids=["s3", "s900", "s3000"], columns=["completion"])["completion"]] == [
        20_002,
        (9 << 20) + 4,
        15,
    ]
