"""A training loop on Ray whose workers measure themselves, recorded with `rs.init` and `attach`.

    python ray_workers_run.py OUT [killed | gone | held]

Writes `OUT/runs`, and `OUT/measured.jsonl`: what each worker measured of its own calls. With
`killed` the process that records Ray's workers is killed half way; with `gone` the cluster ends
before the run does; with `held` a call runs until the run shows it as under way.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import ray

import rollscope as rs
from rollscope.sources.ray import attach

STEPS = 4


@ray.remote
class Engine:
    def __init__(self, out: str) -> None:
        self.out = out

    def generate(self, rank: int, step: int) -> None:
        self.measured("generate", rank, step, 0.05 + 0.01 * rank)

    def fail(self, rank: int) -> None:
        time.sleep(0.01)
        raise ValueError(f"no tokens for rank {rank}")

    def hold(self) -> None:
        while not os.path.exists(f"{self.out}/go"):
            time.sleep(0.01)

    def measured(self, name: str, rank: int, step: int, seconds: float) -> None:
        start = time.time_ns()
        time.sleep(seconds)
        row = {"name": name, "lane": rank, "step": step, "start": start, "end": time.time_ns(), "pid": os.getpid()}
        with open(f"{self.out}/measured-{rank}.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")


@ray.remote
def grade(step: int) -> None:
    time.sleep(0.01)


def main(out: str, mode: str = "") -> None:
    os.makedirs(out, exist_ok=True)
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    run = rs.init(dir=f"{out}/runs", id="r", host=False)
    attach(run)
    engines = [Engine.options(name=f"engine_{rank}").remote(out) for rank in range(2)]
    for step in range(STEPS):
        ray.get([engine.generate.remote(rank, step) for rank, engine in enumerate(engines)])
        ray.get(grade.remote(step))
        run.log({"loss": 1.0 / (step + 1)}, step=step)
        if step == 1:
            act(mode, run, engines)
    if mode == "gone":
        ray.shutdown()
    begun = time.monotonic()
    run.finish()
    print(json.dumps({"seconds": time.monotonic() - begun, "losses": run.losses}))


def act(mode: str, run: rs.Run, engines: list[ray.actor.ActorHandle]) -> None:
    if mode == "killed":
        os.kill(helper(), signal.SIGKILL)
    elif mode == "held":
        held = engines[1].hold.remote()
        shown = subprocess.run([sys.executable, __file__, "see", str(run.folder)], capture_output=True, text=True)
        print(shown.stdout, end="")
        open(f"{run.folder}/../../go", "w").close()
        ray.get(held)
    else:
        with contextlib.suppress(ValueError):
            ray.get(engines[1].fail.remote(1))


def helper() -> int:
    """The process that records Ray's workers: a child of this one."""
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "rollscope.sources.ray"], capture_output=True)
    return int(found.stdout.split()[0])


def see(folder: str) -> None:
    """Wait until the run shows a call that is under way."""
    from rollscope.store.log import open_spans

    while not (rows := [row for rows in open_spans.read(folder).values() for row in rows if row["name"] == "hold"]):
        time.sleep(0.05)
    print(json.dumps({"open": rows[0]}))


if __name__ == "__main__":
    see(sys.argv[2]) if sys.argv[1] == "see" else main(*sys.argv[1:])
