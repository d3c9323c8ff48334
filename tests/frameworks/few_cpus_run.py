"""Two rollout workers on a Ray of one CPU: once the first one has begun, look whether both have."""

import sys

import ray

from rollscope.trainer.config import read
from rollscope.trainer.rollouts import ray_actors
from rollscope.trainer.rollouts.workers import WorkerSpec

if __name__ == "__main__":
    config = read(sys.argv[1])
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    spec = WorkerSpec(config.model, config.trained_on, config.failure.faults)
    actors = ray_actors.RayActors(spec, 2, ray_actors.HERE)
    ray.wait(actors._beginning, num_returns=1)
    ray_actors.BEGIN_SECONDS = 0.0
    assert actors.reports(0.1) == [] and actors.reports(0.1) == []
    actors.close()
    ray.shutdown()
