"""Run a framework's own logging code with Rollscope: RLinf, Trinity-RFT or OpenRLHF.

    python loggers_run.py KIND OUT     KIND: rlinf, trinity, openrlhf

Writes `OUT/runs` (what Rollscope stored) and the framework's own TensorBoard files below `OUT`.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace as Space


def rlinf(out: str) -> None:
    from omegaconf import OmegaConf
    from rlinf.utils.metric_logger import MetricLogger

    import rollscope.sources.rlinf as source

    source.attach(host=False)
    logger = {
        "log_path": f"{out}/logs",
        "project_name": "p",
        "experiment_name": "e",
        "logger_backends": ["tensorboard", "rollscope"],
    }
    runner = {"logger": logger, "per_worker_log": True, "per_worker_log_path": f"{out}/workers"}
    metrics = MetricLogger(OmegaConf.create({"runner": runner}))
    for step in range(4):
        metrics.log({"train/actor/policy_loss": step / 4, "env/success_once": 0.5, "eval/success_once": 0.25}, step)
        for rank in range(2):
            metrics.log({"train/actor/policy_loss": step / 4 + rank}, step, worker_group_name="ActorGroup", rank=rank)
    metrics.finish()


def role_of_trinity(out: str, role: str, both: object) -> None:
    """One process of a job.

    Both roles run side by side, so each waits for the other to start and to end.
    """
    import pandas as pd
    from trinity.utils.monitor import MONITOR

    config = Space(
        monitor=Space(cache_dir=out, monitor_args={"host": False, "name": "told"}),
        algorithm=Space(algorithm_type="grpo"),
    )
    monitors = [
        MONITOR.get(name)(project="p", group="g", name="n", role=role, config=config)
        for name in ("rollscope.sources.trinity.RollscopeMonitor", "tensorboard")
    ]
    both.wait()
    first = 10 if role == "explorer" else 0
    for step in range(first, first + 3):
        data = {"actor/pg_loss": step / 3, "critic/score/mean": 1.0, "time/train_step": 0.5, "time/sync_weight": 0.25}
        if role == "explorer":
            data = {"rollout/accuracy/mean": step / 7, "eval/gsm8k/acc/mean@4": 0.5}
        for monitor in monitors:
            monitor.log(dict(data), step)
    if role == "trainer":
        monitors[0].log_table("rollout_examples", pd.DataFrame([{"prompt": "q", "response": "a", "reward": 0.5}]), 2)
    if role == "explorer":
        explore()
    both.wait()
    for monitor in monitors:
        monitor.close()


def explore() -> None:
    """What two tasks gave, through an operator made and called as the experience pipeline does."""
    import asyncio

    import torch
    from trinity.buffer.operators import create_operators
    from trinity.common.config import OperatorConfig
    from trinity.common.experience import EID, Experience

    def made(task: int, run: int) -> Experience:
        length = 3 + task + run
        said = [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "I add."}]
        return Experience(
            eid=EID(batch=10, task=task, run=run),
            tokens=torch.arange(2 + length),
            prompt_length=2,
            logprobs=-torch.ones(length) / (1 + run),
            action_mask=torch.tensor([1, 0, *[1] * (length - 2)]),
            reward=run / 2,
            info={"model_version": 7, "model_version_drift": run},
            metrics={"tries": float(run)},
            truncate_status="response_truncated" if run else None,
            prompt_text=f"task {task}",
            response_text="5",
            messages=[*said, {"role": "tool", "content": "5"}, {"role": "assistant", "content": "5"}],
        )

    args = {"project": "p", "name": "n", "host": False}
    (operator,) = create_operators([OperatorConfig(name="rollscope.sources.trinity.RollscopeOperator", args=args)])
    given = [made(task, run) for task in range(2) for run in range(2)]
    kept, _ = asyncio.run(operator.process(given))
    assert kept is given
    asyncio.run(operator.close())


def trinity(out: str) -> None:
    import multiprocessing

    spawn = multiprocessing.get_context("spawn")
    both = spawn.Barrier(2, timeout=300)
    roles = [spawn.Process(target=role_of_trinity, args=(out, role, both)) for role in ("explorer", "trainer")]
    for process in roles:
        process.start()
    for process in roles:
        process.join()
        assert process.exitcode == 0


def openrlhf(out: str) -> None:
    from openrlhf.utils import logging_utils

    import rollscope.sources.openrlhf as source

    source.attach(project="p", host=False)
    args = Space(logger=Space(tensorboard_dir=f"{out}/tb", wandb=Space(run_name="n")), lr=0.1)
    logger = logging_utils.TensorboardLogger(args)
    for step in range(1, 5):
        values = {"policy_loss": step / 4, "actor_lr": 1e-6, "nothing": None}
        logger.log_train(step, {**values, "generated_samples": ("text", 0.5)})
        logger.log_eval(step, {"eval_gsm8k_pass1": step / 8})
    logger.close()


if __name__ == "__main__":
    kind, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    os.environ["ROLLSCOPE_DIR"] = f"{out}/runs"
    {"rlinf": rlinf, "trinity": trinity, "openrlhf": openrlhf}[kind](out)
