"""Run veRL's fully asynchronous trainer with drawn rollouts in its queue.

`verl_queue_run.py` calls `train` with Ray running. The trainer with its loop is veRL's; the
rollouter, the workers and the queue are stand-ins. What each local update got is in
`OUT/drawn/UPDATE.npz`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from verl_draws import WIDTH, N, Tokenizer, rollouts

PROMPTS, UPDATES, EACH = 2, 4, 2  # local updates, and how many of them bring new weights


def train(out: Path) -> int:
    """Train; return the version of the weights at the end."""
    from verl.experimental.fully_async_policy.fully_async_trainer import FullyAsyncTrainer

    (out / "drawn").mkdir(parents=True)
    trainer = made(FullyAsyncTrainer.__ray_metadata__.modified_class, out)
    asyncio.run(trainer.fit())
    trainer.logger.finish()
    return int(trainer.current_param_version)


def configuration(out: Path) -> Any:
    import verl
    from omegaconf import OmegaConf

    folder = Path(verl.__file__).parent
    whole = OmegaConf.load(folder / "trainer" / "config" / "_generated_ppo_trainer.yaml")
    own = OmegaConf.load(folder / "experimental" / "fully_async_policy" / "config" / "fully_async_ppo_trainer.yaml")
    changes = {
        "trainer": {
            "project_name": "p",
            "experiment_name": "async",
            "logger": ["file", "rollscope"],
            "save_freq": -1,
            "test_freq": -1,
            "balance_batch": False,
            "n_gpus_per_node": 1,
        },
        "actor_rollout_ref": {
            "hybrid_engine": False,
            "rollout": {"name": "vllm", "n": N},
            "actor": {"ppo_mini_batch_size": PROMPTS},
        },
        "algorithm": {"adv_estimator": "grpo"},
        "async_training": {"trigger_parameter_sync_step": EACH},
        "data": {"max_response_length": WIDTH},
    }
    del own["hydra"], own["defaults"]
    return OmegaConf.merge(whole, own, changes)


class Queue:
    """Gives the groups of every update, which ever older weights wrote, then ends the training."""

    def __init__(self, generator: Any) -> None:
        self._generator, self._given = generator, 0

    async def get_sample(self) -> tuple[Any, int]:
        import numpy as np
        import ray
        from verl.experimental.fully_async_policy.detach_utils import RolloutSample

        if self._given == PROMPTS * UPDATES:
            return None, 0
        self._given += 1
        batch = rollouts(N, self._generator)
        batch.meta_info["metrics"] = [{"generate_sequences": 2.0, "tool_calls": 0.5}] * N
        words = {"uid": f"group-{self._given}", "min_global_steps": 0, "max_global_steps": int(self._given > PROMPTS)}
        for name, value in words.items():
            batch.non_tensor_batch[name] = np.array([value] * N, dtype=object)
        return ray.cloudpickle.dumps(RolloutSample(batch, str(self._given), 0, {})), 0

    def get_queue_size_sync(self) -> int:
        return PROMPTS * UPDATES - self._given


def remote(value: Any) -> Any:
    """A method of an actor that returns a value."""
    import ray

    return SimpleNamespace(remote=lambda *_, **__: ray.put(value))


def made(theirs: Any, out: Path) -> Any:
    import numpy as np
    import torch
    from verl import DataProto

    generator = torch.Generator().manual_seed(1)

    class Trainer(theirs):  # type: ignore[misc]
        def _compute_ref_log_prob(self, batch: Any) -> Any:
            drawn = torch.randn(*batch.batch["responses"].shape, generator=generator)
            return DataProto.from_dict(tensors={"ref_log_prob": drawn})

        def _update_actor(self, batch: Any) -> Any:
            kept = {name: batch.batch[name].numpy() for name in batch.batch.keys()}  # noqa: SIM118
            np.savez(out / "drawn" / f"{self.global_steps}.npz", **kept, uid=batch.non_tensor_batch["uid"].astype(str))
            return DataProto(meta_info={"metrics": {"actor/grad_norm": [0.5]}})

        def _start_profiling(self, *_: Any, **__: Any) -> None:
            pass

        _stop_profiling = _start_profiling

    async def updated(**_: Any) -> None:
        pass

    pool = SimpleNamespace(get_n_gpus=lambda: 1)
    trainer = Trainer(configuration(out), Tokenizer(), {}, pool, device_name="cpu")
    trainer.message_queue_client = Queue(generator)
    counts = {"get_total_produced_samples": remote(0), "get_completed_steps": remote(0)}
    trainer.rollouter = SimpleNamespace(**counts, reset_staleness=remote({"fully_async/idle": 0.5}))
    trainer.checkpoint_manager = SimpleNamespace(update_weights=updated)
    trainer.progress_bar = SimpleNamespace(update=lambda _: None, close=lambda: None)
    return trainer
