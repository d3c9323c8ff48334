"""veRL's own worker group on Ray, driven by a task runner that logs with `Tracking`.

    python verl_workers_run.py OUT

The workers have no model: they sleep, and write down what they measured.
"""

from __future__ import annotations

import json
import os
import sys
import time

import ray
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, register
from verl.single_controller.ray.base import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup

STEPS = 3


@ray.remote
class Actor(Worker):
    def __init__(self, out: str) -> None:
        super().__init__()
        self.out = out

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def compute_log_prob(self, step: int) -> None:
        self.measured("compute_log_prob", step, 0.01)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def update_actor(self, step: int) -> None:
        self.measured("update_actor", step, 0.03 + 0.02 * self.rank)

    def measured(self, name: str, step: int, seconds: float) -> None:
        start = time.time_ns()
        time.sleep(seconds)
        row = {"name": name, "lane": self.rank, "step": step, "start": start, "end": time.time_ns(), "pid": os.getpid()}
        with open(f"{self.out}/measured-{self.rank}.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")


@ray.remote
class TaskRunner:
    def run(self, out: str) -> None:
        from verl.utils.tracking import Tracking

        tracking = Tracking("p", "workers", ["rollscope"], {})
        cls = RayClassWithInitArgs(cls=Actor, out=out)
        group = RayWorkerGroup(RayResourcePool([2], use_gpu=False, max_colocate_count=1), cls, device_name="cpu")
        for step in range(1, STEPS + 1):
            group.compute_log_prob(step)
            group.update_actor(step)
            tracking.log(data={"actor/loss": 1.0 / step, "training/global_step": step}, step=step)
        tracking.finish()


def main(out: str) -> None:
    os.makedirs(out, exist_ok=True)
    variables = {"ROLLSCOPE_DIR": f"{out}/runs", "PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": variables})
    ray.get(TaskRunner.remote().run.remote(out))


if __name__ == "__main__":
    main(sys.argv[1])
