"""A training script that logs to W&B only: rollscope run -- python examples/any_wandb_script.py"""

import math
import random

import wandb

run = wandb.init(project="anything", name="any-script", config={"lr": 3e-4, "model": {"layers": 2}})
rng = random.Random(0)
for step in range(50):
    loss = math.exp(-step / 20) + 0.05 * rng.random()
    wandb.log({"loss": loss, "reward/mean": step / 50, "grad_norm": rng.random()}, step=step)
table = wandb.Table(columns=["prompt", "completion", "reward"], data=[["2+2", "4", 1.0], ["3+3", "7", 0.0]])
run.log({"samples": table})
wandb.finish()
