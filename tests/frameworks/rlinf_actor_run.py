"""Let RLinf's actor of language models train on drawn rollouts, with Rollscope attached: `... OUT`.

Runs in veRL's environment with RLinf beside it. Taking results from a channel, batches, advantages,
mini-batches and the metrics of rollouts are RLinf's; the actor is an object of this process. Tokens
and log-probabilities are drawn, and nothing is learned. What the actor was given is written to
`OUT/held/STEP.json`, what it logged to TensorBoard files.
"""

from __future__ import annotations

import json
import os
import queue
import random
import sys
from types import SimpleNamespace as Space
from typing import Any

import ray
import torch
import transformers
from omegaconf import OmegaConf
from openrlhf_run import Tokenizer

transformers.AutoModelForVision2Seq = transformers.AutoModelForImageTextToText  # the name that RLinf knows
from rlinf.data.io_struct import RolloutResult  # noqa: E402
from rlinf.scheduler import Worker  # noqa: E402
from rlinf.workers.actor.fsdp_actor_worker import FSDPActor  # noqa: E402

STEPS, GROUPS, SIZE, PROMPT, RESPONSE, MINI = 2, 3, 2, 4, 6, 2


class Drawn(FSDPActor):  # type: ignore[misc]
    """RLinf's actor without a model: its training does nothing."""

    def __init__(self, cfg: Any) -> None:
        from rollscope.sources.rlinf.worker import register

        self._rank, self._worker_name, self._timer_metrics = 0, "actor:0", {}
        self._load_user_extensions = register  # as RLinf does in the process of a worker
        self._load_user_extensions()
        self.cfg, self.tokenizer = cfg, Tokenizer()
        self.total_batch_size_per_dp, self.response_len, self._world_size = GROUPS * SIZE, RESPONSE, 1
        self.is_pipeline = self.enable_dp_load_balance = False
        self.model = self.lr_scheduler = Space(train=lambda: None, step=lambda: None)
        self.task_type, self.lr_sched_sync_with_optim = "reasoning", True
        self.reinpp_kl_beta, self.kl_penalty_type = 0.0, "k1"

    def _load_weight_and_optimizer(self) -> None: ...

    def training_step(self, batch: Any) -> dict[str, float]:
        return {"actor/policy_loss": float(batch["advantages"].sum())}

    def train_on(self, results: list[RolloutResult]) -> Any:
        waiting: queue.Queue[RolloutResult] = queue.Queue()
        for one in results:
            waiting.put(one)
        return self.run_training(Space(get=waiting.get_nowait))


def drawn(step: int, group: int) -> RolloutResult:
    """A group of rollouts; the second of a group was told one of its tokens."""
    draw = random.Random(10 * step + group)
    lengths = [draw.randint(2, RESPONSE) for _ in range(SIZE)]
    prompt = [draw.randint(3, 30) for _ in range(draw.randint(2, PROMPT))]
    logp = [[-draw.random() for _ in range(length)] for length in lengths]
    padded = torch.tensor([[*row, *[0.0] * (RESPONSE - len(row))] for row in logp])
    return RolloutResult(
        num_sequence=SIZE,
        group_size=SIZE,
        prompt_lengths=[len(prompt)] * SIZE,
        prompt_ids=[prompt] * SIZE,
        response_lengths=lengths,
        response_ids=[[draw.randint(3, 30) for _ in range(length)] for length in lengths],
        is_end=[length < RESPONSE for length in lengths],
        rewards=torch.tensor([draw.random() for _ in lengths]),
        answers=[[f"answer {group}"]] * SIZE,
        response_mask=[[1] * lengths[0], [1, 0, *[1] * (lengths[1] - 2)]],
        rollout_logprobs=logp,
        recomputed_logprobs=padded - 0.125,
        ref_logprobs=padded - 0.25,
    )


def kept(result: RolloutResult) -> list[dict[str, Any]]:
    names = ("prompt_ids", "response_ids", "is_end", "response_mask", "rollout_logprobs", "answers", "response_lengths")
    lists = {name: getattr(result, name) for name in names}
    tensors = {name: getattr(result, name).tolist() for name in ("rewards", "recomputed_logprobs", "ref_logprobs")}
    return [{name: values[i] for name, values in (lists | tensors).items()} for i in range(result.num_sequence)]


class Runner:
    """Logs and times as RLinf's `ReasoningRunner` does."""

    def __init__(self, cfg: Any) -> None:
        from rlinf.utils.distributed import ScopedTimer
        from rlinf.utils.metric_logger import MetricLogger

        self.cfg, self.global_steps = cfg, 0
        self.timer = ScopedTimer(reduction="max", sync_cuda=False)
        self.metric_logger = MetricLogger(cfg)

    def run(self, actor: Any, out: str) -> None:
        for step in range(STEPS):
            results = [drawn(step, group) for group in range(GROUPS)]
            with self.timer("step"), self.timer("training"):
                rollouts, updates = actor.train_on(results)
                self.global_steps += 1
            with open(f"{out}/held/{step * MINI}.json", "w") as file:
                json.dump([row for one in results for row in kept(one)], file)
            at = (self.global_steps - 1) * MINI
            self.metric_logger.log(
                {f"time/{name}": value for name, value in self.timer.consume_durations().items()}, at
            )
            self.metric_logger.log({f"rollout/{name}": value for name, value in rollouts.items()}, at)
            for i, metrics in enumerate(updates):
                self.metric_logger.log({f"actor/training/{name}": value for name, value in metrics.items()}, at + i)
        self.metric_logger.finish()


def main(out: str) -> None:
    import rollscope.sources.rlinf as source

    os.makedirs(f"{out}/held")
    source.attach(host=False)
    ray.init(address="local", num_cpus=1, include_dashboard=False)
    torch.Tensor.cuda = lambda self, *_, **__: self  # there is no GPU
    Worker.torch_platform, Worker.torch_device_type = torch.cpu, "cpu"
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    logger = {"log_path": f"{out}/logs", "project_name": "p", "experiment_name": "e"}
    cfg = OmegaConf.create(
        {
            "runner": {
                "task_type": "reasoning",
                "logger": {**logger, "logger_backends": ["tensorboard", "rollscope"]},
            },
            "data": {"max_prompt_length": PROMPT},
            "algorithm": {
                "group_size": SIZE,
                "n_minibatches": MINI,
                "adv_type": "grpo",
                "normalize_advantages": False,
                "shuffle_rollout": False,
            },
            "actor": {
                "seed": 1,
                "global_batch_size": GROUPS * SIZE,
                "micro_batch_size": 1,
                "model": {"encoder_seq_length": PROMPT + RESPONSE},
            },
        }
    )
    Runner(cfg).run(Drawn(cfg), out)
    ray.shutdown()


if __name__ == "__main__":
    os.environ["ROLLSCOPE_DIR"] = f"{sys.argv[1]}/runs"
    main(sys.argv[1])
