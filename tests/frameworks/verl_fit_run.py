"""Run veRL's trainer that holds its batch as a `DataProto`, with a stubbed engine.

    python verl_fit_run.py OUT [FAULT...]

Runs in veRL's own environment, with Rollscope as the logger. The engine and the workers are
replaced by draws; the loop, the batches, the advantages, the metrics and the dump of rollouts
(`OUT/dump/STEP.jsonl`) are veRL's. `OUT/drawn/STEP.npz` holds what was drawn. For each fault there
is a further training in `OUT/FAULT`, in which our code fails. In `bare` a batch has no more than
veRL needs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from verl_draws import WIDTH, N, Tokenizer, rollouts

PROMPTS, STEPS = 4, 3


def main(out: str, *modes: str) -> None:
    import faults

    faults.install()
    from rollscope.sources.verl import plugin

    plugin.plug()
    for mode in ("", *modes):
        folder = os.path.join(out, mode)
        os.makedirs(f"{folder}/drawn", exist_ok=True)
        os.environ |= {"ROLLSCOPE_DIR": f"{folder}/runs", "VERL_FILE_LOGGER_PATH": f"{folder}/logged.jsonl"}
        with faults.broken(mode, f"{folder}/runs"):
            trainer = made(Path(folder), mode)
            trainer.fit()
        print(f"{mode} ended at step {trainer.global_steps}", file=sys.stderr)


def configuration(out: Path) -> Any:
    """veRL's own, with a few changes."""
    import verl
    from omegaconf import OmegaConf

    changes = {
        "trainer": {
            "project_name": "p",
            "experiment_name": "e",
            "logger": ["console", "file", "rollscope"],
            "total_epochs": 1,
            "save_freq": -1,
            "test_freq": -1,
            "val_before_train": False,
            "balance_batch": False,
            "rollout_data_dir": str(out / "dump"),
        },
        "actor_rollout_ref": {"rollout": {"name": "vllm", "n": N, "calculate_log_probs": True}},
        "algorithm": {"adv_estimator": "grpo"},
        "data": {"max_response_length": WIDTH},
    }
    folder = Path(verl.__file__).parent / "trainer" / "config"
    return OmegaConf.merge(OmegaConf.load(folder / "_generated_ppo_trainer.yaml"), changes)


def made(out: Path, mode: str) -> Any:
    import numpy as np
    import torch
    from verl import DataProto
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer

    generator, bare = torch.Generator().manual_seed(0), mode == "bare"
    about = {
        "data_source": np.array(["gsm8k"] * PROMPTS, dtype=object),
        "reward_model": np.array([{"ground_truth": str(i)} for i in range(PROMPTS)], dtype=object),
        "extra_info": np.array([{"index": i} for i in range(PROMPTS)], dtype=object),
    }

    def drawn(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator)

    class Engine:
        def generate_sequences(self, batch: Any) -> Any:
            return rollouts(len(batch), generator, bare)

    class Trainer(RayPPOTrainer):
        def __init__(self) -> None:
            self.config = configuration(out)
            self.tokenizer, self.use_critic, self.use_rm = Tokenizer(), False, False
            self.use_reference_policy = not bare
            self.total_training_steps, self.actor_rollout_wg, self.train_dataset = STEPS, object(), object()
            quiet = SimpleNamespace(update_weights=lambda *_: None, sleep_replicas=lambda: None)
            self.checkpoint_manager, self.async_rollout_manager = quiet, Engine()
            self.resource_pool_manager = SimpleNamespace(get_n_gpus=lambda: 1)
            self._init_dump_executor()
            self.train_dataloader = [
                {
                    "dummy_tensor": torch.zeros(PROMPTS, 1),
                    **({} if bare else about),
                }
                for _ in range(STEPS)
            ]

        def _load_checkpoint(self) -> None:
            pass

        def _start_profiling(self, *_: Any, **__: Any) -> None:
            pass

        _stop_profiling = _start_profiling

        def _compute_old_log_prob(self, batch: Any) -> Any:
            shape = batch.batch["responses"].shape
            tensors = {"old_log_probs": drawn(*shape), "entropys": torch.rand(*shape, generator=generator)}
            return DataProto.from_dict(tensors=tensors), 0.0

        def _compute_ref_log_prob(self, batch: Any) -> Any:
            return DataProto.from_dict(tensors={"ref_log_prob": drawn(*batch.batch["responses"].shape)})

        def _update_actor(self, batch: Any) -> Any:
            kept = {name: batch.batch[name].numpy() for name in batch.batch.keys()}  # noqa: SIM118
            np.savez(out / "drawn" / f"{self.global_steps}.npz", **kept, uid=batch.non_tensor_batch["uid"].astype(str))
            return DataProto(meta_info={"metrics": {"actor/grad_norm": [0.5]}})

    return Trainer()


if __name__ == "__main__":
    main(*sys.argv[1:])
