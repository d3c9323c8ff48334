"""Several processes record one run: reading merges them to one right value, `reduce` at once."""

import subprocess
import sys

import pytest

import rollscope as rs
from rollscope.catalog.compute.compute import compute
from rollscope.catalog.partials.partial import Mean

SHARED = """
import sys
import numpy as np
import rollscope as rs
from rollscope.catalog.partials.partial import Mean

SIZE = 64

def batch(seed=3):
    dice = np.random.default_rng(seed)
    logp = -dice.random((SIZE, 5))
    mask = dice.random((SIZE, 5)) < 0.8
    mask[:, 0] = True
    tokens = {"logp": logp, "old_logp": logp + 0.1 * dice.standard_normal((SIZE, 5)), "action_mask": mask}
    samples = {"advantages": dice.standard_normal(SIZE), "reward": dice.integers(0, 2, SIZE).astype(float)}
    return {**tokens, **samples, "group": np.arange(SIZE) % 8, "clip_low": 0.2, "clip_high": 0.2}

def part(batch, shard, shards):
    return {k: v[shard::shards] if isinstance(v, np.ndarray) else v for k, v in batch.items()}
"""

WRITER = (
    SHARED
    + """
shard = int(sys.argv[2])
with rs.init(name="eight", id="eight", dir=sys.argv[1], host=False, shard=shard, shards=8) as run:
    for step in range(3):
        run.log_batch(part(batch(step), shard, 8), step=step)
        run.log({"plain": float(shard)}, step=step)
        run.log({"micro": Mean(shard, 1.0)}, step=step)
        run.log({"micro": Mean(shard, 1.0)}, step=step)
"""
)


def test_eight_writers_merge_to_the_values_of_one_pass(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)]) for i in range(8)]
    assert [process.wait(120) for process in processes] == [0] * 8
    run = rs.open(tmp_path).run("eight")
    scope = {}
    exec(SHARED, scope)
    assert run.series("plain")["value"].tolist() == [3.5] * 3 and run.series("plain")["max"].tolist() == [7.0] * 3
    assert run.series("micro")["value"].tolist() == [3.5] * 3 and run.series("micro")["weight"].tolist() == [16.0] * 3
    for step in range(3):
        before = {"samples_before": 64 * step, "episodes_before": 64 * step}
        for name, partial in compute(scope["batch"](step) | before).items():
            series = run.series(name)
            got = series["value"][series["step"].tolist().index(step)]
            assert got == pytest.approx(partial.value, rel=1e-9, abs=1e-12, nan_ok=True), name


GLOO = (
    SHARED
    + """
import torch.distributed as dist
rank = int(sys.argv[2])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=2)

class Kept:
    rows = []
    def write(self, rows):
        self.rows += [r for r in rows if r.table == "metrics"]
    def close(self):
        pass

run = rs.init(name="gloo", id="gloo", dir=sys.argv[1], host=False, shard=rank, shards=2, sinks=[Kept()])
run.log_batch(part(batch(), rank, 2), step=1)
run.log({"plain": float(rank), "mean": Mean(10.0 * rank, 1.0 + rank)}, step=1)
merged = run.reduce(1)
run.finish()
assert merged["plain"] == 0.5 and merged["mean"] == 10 / 3, merged
from rollscope.catalog.compute.compute import compute
for name, partial in compute(batch()).items():
    np.testing.assert_allclose(merged[name], partial.value, rtol=1e-9, atol=1e-12, err_msg=name)
assert [(r.step, float(r.data["mean"])) for r in Kept.rows] == ([(1, 10 / 3)] if rank == 0 else []), Kept.rows
dist.destroy_process_group()
"""
)


def test_reduce_gives_one_value_to_the_sinks_of_rank_0(tmp_path):
    command = [sys.executable, "-c", GLOO, str(tmp_path / "runs")]
    processes = [subprocess.Popen([*command, str(i), str(tmp_path / "meeting")]) for i in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    got = rs.open(tmp_path / "runs").run("gloo").series("mean")
    assert got["value"].tolist() == [10 / 3], "the store merges on reading, whatever the sinks get"


def test_reduce_without_other_ranks_returns_the_values_as_they_are(init):
    run = init(shards=2, shard=0)
    run.log({"a": Mean(3.0, 2.0), "b": 2.0}, step=0)
    assert run.reduce(0) == {"a": 1.5, "b": 2.0}


COUNTING = """
import sys
import numpy as np
import rollscope as rs

folder, shard, shards, first, last, resume, end = sys.argv[1], *map(int, sys.argv[2:7]), sys.argv[7]
resume = None if resume < 0 else True if resume == 999 else resume
run = rs.init(name="c", id="c", dir=folder, host=False, shard=shard, shards=shards, resume=resume)
for step in range(first, last):
    for _ in range(2):  # micro-batches
        run.log_batch({"prompt_tokens": np.full(2, 1.0), "completion_tokens": np.full(2, 4.0 + shard)}, step=step)
run.flush(60)
if end == "killed":
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
run.finish()
"""


def _count(folder, *processes, end="finished"):
    """Processes of one launch: (shard, shards, first step, after the last, resumed from or -1)."""
    commands = [[sys.executable, "-c", COUNTING, str(folder), *map(str, process), end] for process in processes]
    running = [subprocess.Popen(command) for command in commands]
    assert [process.wait(120) for process in running] == [-9 if end == "killed" else 0] * len(processes)


def _totals(folder, name="counter/tokens", **more):
    series = rs.open(folder).run("c").series(name, **more)
    return dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))


PER_STEP = 2 * 2 * (5 + 0) + 2 * 2 * (5 + 1)  # of two shards: 20 and 24


def test_counters_of_several_shards_are_one_total_that_survives_a_resume(tmp_path):
    _count(tmp_path, (0, 2, 0, 10, -1), (1, 2, 0, 10, -1))
    assert _totals(tmp_path) == {step: PER_STEP * (step + 1.0) for step in range(10)}
    assert _totals(tmp_path, "counter/samples")[9] == 80 and _totals(tmp_path, rank=0)[9] == 200
    _count(tmp_path, (0, 2, 6, 8, 5), (1, 2, 6, 8, 5))
    expected = {step: PER_STEP * (step + 1.0) for step in range(8)}
    assert _totals(tmp_path) == expected, "steps 6 to 9 of the first attempt are history"
    second = {6: PER_STEP * 7.0, 7: PER_STEP * 8.0}
    assert _totals(tmp_path, attempt=2) == second, "the second attempt knows what came before it"
    metrics = rs.open(tmp_path).run("c").metrics()
    assert metrics["last"][metrics["name"].tolist().index("counter/tokens")] == PER_STEP * 8


def test_counters_after_a_kill_and_with_another_number_of_shards(tmp_path):
    _count(tmp_path, (0, 2, 0, 10, -1), (1, 2, 0, 10, -1), end="killed")
    _count(tmp_path, (0, 1, 4, 6, 999))
    two_shards = {step: PER_STEP * (step + 1.0) for step in range(4)}
    assert _totals(tmp_path) == two_shards | {4: PER_STEP * 4 + 20.0, 5: PER_STEP * 4 + 40.0}
    _count(tmp_path, (0, 3, 2, 3, 1), (1, 3, 2, 3, 1), (2, 3, 2, 3, 1))
    assert _totals(tmp_path)[2] == PER_STEP * 2 + 20 + 24 + 28, "resumed before where the second attempt had begun"


def test_a_shard_that_comes_later_or_leaves_earlier_counts_in_the_total(tmp_path):
    _count(tmp_path, (0, 3, 0, 6, -1), (1, 3, 0, 2, -1), (2, 3, 4, 6, -1))
    totals = [44, 88, 108, 128, 128 + 48, 128 + 96]
    assert list(_totals(tmp_path).values()) == totals
    subprocess.run([sys.executable, "-m", "rollscope.store.seal", str(tmp_path / "c")], check=True)
    assert list(_totals(tmp_path).values()) == totals, "sealed as well"
    buckets = rs.open(tmp_path).run("c").buckets(["counter/tokens"], 0, 6, 3)
    assert buckets["last"].tolist() == [[88.0, 128.0, 224.0]]
