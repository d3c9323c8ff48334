"""Several processes, one run: merged on reading to one right value, or by a collective that was asked for."""

import socket
import subprocess
import sys

import pytest

import rollscope as rs
from rollscope.catalog.compute import compute
from rollscope.catalog.partial import Mean

SHARED = """
import sys
import numpy as np
import rollscope as rs
from rollscope.catalog.partial import Mean

SIZE = 64

def whole(seed=3):
    dice = np.random.default_rng(seed)
    logp = -dice.random((SIZE, 5))
    mask = dice.random((SIZE, 5)) < 0.8
    mask[:, 0] = True
    return {"logp": logp, "old_logp": logp + 0.1 * dice.standard_normal((SIZE, 5)), "action_mask": mask, "advantages": dice.standard_normal(SIZE),
            "reward": dice.integers(0, 2, SIZE).astype(float), "group": np.arange(SIZE) % 8, "clip_low": 0.2, "clip_high": 0.2}

def part(batch, shard, shards):
    return {k: v[shard::shards] if isinstance(v, np.ndarray) else v for k, v in batch.items()}
"""

WRITER = (
    SHARED
    + """
shard = int(sys.argv[2])
with rs.init(name="eight", id="eight", dir=sys.argv[1], host=False, shard=shard, shards=8) as run:
    for step in range(3):
        run.log_batch(part(whole(step), shard, 8), step=step)
        run.log({"plain": float(shard)}, step=step)
        run.log({"micro": Mean(shard, 1.0)}, step=step)
        run.log({"micro": Mean(shard, 1.0)}, step=step)
"""
)


def test_eight_writers_merge_to_what_one_pass_gives(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)]) for i in range(8)]
    assert [process.wait(120) for process in processes] == [0] * 8
    run = rs.open(tmp_path).run("eight")
    scope = {}
    exec(SHARED, scope)
    assert run.series("plain")["value"].tolist() == [3.5] * 3 and run.series("plain")["max"].tolist() == [7.0] * 3
    assert run.series("micro")["value"].tolist() == [3.5] * 3 and run.series("micro")["weight"].tolist() == [16.0] * 3
    for step in range(3):
        for name, partial in compute(scope["whole"](step)).items():
            series = run.series(name)
            got = series["value"][series["step"].tolist().index(step)]
            assert got == pytest.approx(partial.value, rel=1e-9, abs=1e-12, nan_ok=True), name


GLOO = (
    SHARED
    + """
import torch.distributed as dist
rank = int(sys.argv[2])
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{sys.argv[3]}", rank=rank, world_size=2)

class Kept:
    rows = []
    def write(self, rows):
        self.rows += [r for r in rows if r.table == "metrics"]
    def close(self):
        pass

run = rs.init(name="gloo", id="gloo", dir=sys.argv[1], host=False, shard=rank, shards=2, sinks=[Kept()])
run.log_batch(part(whole(), rank, 2), step=1)
run.log({"plain": float(rank), "mean": Mean(10.0 * rank, 1.0 + rank)}, step=1)
merged = run.reduce(1)
run.finish()
assert merged["plain"] == 0.5 and merged["mean"] == 10 / 3, merged
from rollscope.catalog.compute import compute
for name, partial in compute(whole()).items():
    np.testing.assert_allclose(merged[name], partial.value, rtol=1e-9, atol=1e-12, err_msg=name)
assert [(r.step, float(r.data["mean"])) for r in Kept.rows] == ([(1, 10 / 3)] if rank == 0 else []), Kept.rows
dist.destroy_process_group()
"""
)


def test_reduce_is_a_collective_that_gives_one_value_to_the_sinks_of_rank_0(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [subprocess.Popen([sys.executable, "-c", GLOO, str(tmp_path), str(i), str(port)]) for i in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    got = rs.open(tmp_path).run("gloo").series("mean")
    assert got["value"].tolist() == [10 / 3], "the store merges on reading, whatever the sinks were told"


def test_alone_reduce_gives_the_values_as_they_are(init):
    run = init(shards=2, shard=0)
    run.log({"a": Mean(3.0, 2.0), "b": 2.0}, step=0)
    assert run.reduce(0) == {"a": 1.5, "b": 2.0}
