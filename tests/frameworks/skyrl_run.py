"""A training batch as SkyRL's trainer dumps it: `dumped_data/global_step_{N}_training_input.pkl`.

Its trainer makes the batch, asks a scripted engine for log-probabilities and values, computes the
advantages and dumps, as in a step of its own.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

PROMPTS = [[1, 2, 3], [1, 2, 3], [4, 5], [4, 5]]
RESPONSES = [[6, 7], [6, 8, 7], [9], [6, 8, 9, 7]]
MASKS = [[1, 1], [1, 0, 1], [1], [1, 1, 1, 1]]  # the 0 is a token of a tool
GPUS = 3  # SkyRL fills up the four sequences to a multiple of it


class Engine:
    """Gives every token of a response the same number, by model."""

    said = {"policy": -0.5, "ref": -0.75, "critic": 0.125}

    def forward(self, model: str, batch: Any) -> Any:
        key, width = "values" if model == "critic" else "logprobs", batch.metadata["response_length"]
        return SimpleNamespace(loss_fn_outputs=[{key: [self.said[model]] * width} for _ in range(len(batch))])

    def empty_cache(self, *_: Any) -> None:
        pass

    def get_lcm_dp_size(self) -> int:
        return GPUS


def dump(root: Path, rewards: list[float], step: int) -> None:
    trainer = _trainer(root, step)
    said = {"prompt_token_ids": PROMPTS, "response_ids": RESPONSES, "loss_masks": MASKS, "rewards": rewards}
    more = {"rollout_logprobs": [[-0.25] * len(one) for one in RESPONSES], "stop_reasons": ["stop"] * 4}
    output, uids = trainer.postprocess_generator_output({**said, **more}, ["a", "a", "b", "b"])
    batch = trainer.convert_to_training_input(output, uids)
    batch = trainer.compute_advantages_and_returns(trainer.fwd_logprobs_values_reward(batch))
    batch.pop("rewards")  # as its loop does, before it dumps
    batch.metadata.pop("uids")
    trainer.dump_data(batch, file_name=f"global_step_{step}_training_input")


def _trainer(root: Path, step: int) -> Any:
    """Only what these calls need of a trainer: the others need GPUs."""
    from skyrl.train.config import SkyRLTrainConfig
    from skyrl.train.trainer import RayPPOTrainer

    config = SkyRLTrainConfig()
    config.trainer.export_path, config.trainer.critic.model.path = str(root), "critic"
    config.trainer.train_batch_size = config.generator.n_samples_per_prompt = 2
    config.trainer.policy_mini_batch_size = config.trainer.critic_mini_batch_size = 2
    config.trainer.recompute_old_logprobs_per_minibatch = False  # one forward pass
    trainer = object.__new__(RayPPOTrainer)
    trainer.cfg, trainer.global_step, trainer.all_metrics, trainer.all_timings = config, step, {}, {}
    trainer.dispatch, trainer.ref_model, trainer.tokenizer = Engine(), object(), SimpleNamespace(pad_token_id=0)
    return trainer
