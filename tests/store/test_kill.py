"""A sealer may be killed at any instant: every run opens, nothing is lost, nothing is there
twice.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import Any

import rollscope as rs
from rollscope.store.seal import logs

KILLS = 10


def test_killing_the_sealer_at_any_instant_loses_and_doubles_nothing(world: Any) -> None:
    steps, rng = 0, random.Random(0)
    w = world.writer()
    for _ in range(KILLS):
        for _ in range(3):
            for _ in range(50):
                w.metrics(steps, {"a": float(steps), "b": -float(steps)})
                w.rows("samples", [{"id": f"s{steps}", "step": steps, "completion": "text " * 20}])
                steps += 1
            w.rotate()
        sealer = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"from rollscope.store.seal.logs import main; print('ready', flush=True); main([{str(world.run)!r}])",
            ],
            stdout=subprocess.PIPE,
        )
        assert sealer.stdout is not None
        sealer.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.25))
        sealer.kill()
        sealer.wait()
        sealer.stdout.close()
        whole(world, steps)
    logs.main([str(world.run)])
    whole(world, steps)
    assert len(list(world.run.glob("*.sealed"))) < 10


def whole(world: Any, steps: int) -> None:
    run = rs.open(world.root).run()
    for name, sign in (("a", 1.0), ("b", -1.0)):
        found = run.series(name)
        assert found["step"].tolist() == list(range(steps))
        assert found["value"].tolist() == [sign * s for s in range(steps)]
    assert run.sql("select count(*) as n from metrics")["n"].tolist() == [2 * steps]
    assert sorted(run.samples(columns=["step"])["step"].tolist()) == list(range(steps))
    assert run.damage == []
