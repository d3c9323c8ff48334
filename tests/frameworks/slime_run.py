"""The manager of rollouts of slime is an actor of Ray, as in its `train.py`, and logs there.

Runs under `rollscope run`. The actor's environment does not name the run if `hidden` is given, as
on a cluster that was started before.
"""

import os
import sys

import ray
from slime_like import Manager

HIDDEN = {name: "" for name in ("ROLLSCOPE_RUN_ID", "ROLLSCOPE_DIR", "ROLLSCOPE_HOME")}

if __name__ == "__main__":
    import wandb

    truth, hidden = sys.argv[1], sys.argv[2:] == ["hidden"]
    wandb.init(project="p", name="n")
    path = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(num_cpus=2, include_dashboard=False)
    options = {"runtime_env": {"env_vars": {**path, **(HIDDEN if hidden else {})}}}
    manager = ray.remote(Manager).options(**options).remote("slime", None, truth)
    for step in (3, 4):
        ray.get(manager.generate.remote(step))
        wandb.log({"train/loss": 0.5}, step=step)
    ray.get(manager.eval.remote(4))
    wandb.finish()
    ray.shutdown()
