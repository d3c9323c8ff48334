"""Samples of GRPO and RLOO, put together before the trainer shuffles them.

Rewards are recorded where they are computed, the rest where the batch is put together; both are in
the order of generation. An index goes through the shuffle with the batch, so that the per-token
results of the loss can be joined to their samples.
"""

from __future__ import annotations

from typing import Any

from rollscope.sources.live.wrap import after, around

from .batch import Batch, Columns, cut
from .callback import RollscopeCallback

INDEX = "rollscope_index"


class Rollouts:
    """Listens to one trainer and records its samples."""

    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._scored: dict[str, Any] | None = None  # arguments of the reward step, until the batch is complete
        self._batches = 0
        self._live: dict[int, tuple[str, int]] = {}  # index in the batch -> sample id, tokens
        self._version = 0  # of the weights that wrote the batch: updates before it was generated
        self._consumed: dict[int, int] = {}  # index in the batch -> step that first trained on it
        self._loss_index: list[int] | None = None
        self._loss_has_old = False

    def watch(self) -> None:
        """Wrap the methods that exist; a trainer without them (DPO, SFT, ...) has no rollouts."""
        if hasattr(self.trainer, "_calculate_rewards"):
            after(self.trainer, "_calculate_rewards", self._on_rewards)
        if hasattr(self.trainer, "_generate_and_score_completions"):
            after(self.trainer, "_generate_and_score_completions", self._on_batch)
        if hasattr(self.trainer, "_get_per_token_logps_and_entropies"):
            around(self.trainer, "compute_loss", self._enter_loss, self._leave_loss)
            after(self.trainer, "_get_per_token_logps_and_entropies", self._on_tokens)

    def _on_rewards(
        self, rewards: Any, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any, *_: Any
    ) -> None:
        extra = {name: list(values) for name, values in getattr(self.trainer, "_pending_extra_logs", {}).items()}
        self._scored = {
            "rewards": rewards,
            "inputs": inputs,
            "prompts": prompts,
            "completions": completions,
            "ids": completion_ids_list,
            "extra": extra,
        }

    def _on_batch(self, output: dict[str, Any], inputs: Any, *_: Any) -> None:
        import torch

        scored, self._scored = self._scored, None
        run = self.callback.begin(self.trainer.args, self.trainer.state)
        if scored is None or run is None:
            return
        self._batches += 1
        training, version = bool(self.trainer.model.training), int(self.trainer.state.global_step)
        samples = self._samples(scored, output, training)
        run.log_samples(samples, step=version + (1 if training else 0))
        if training:
            self._version = version
            self._live = dict(enumerate(zip(samples["id"], samples["response_tokens"], strict=True)))
            self._consumed = {}
            output[INDEX] = torch.arange(len(samples["id"]))

    def _samples(self, scored: dict[str, Any], output: dict[str, Any], training: bool) -> Columns:
        """One sample per completion: what the reward step saw, joined with what the batch holds."""
        count = len(scored["prompts"])
        first = self.trainer.accelerator.process_index * count  # TRL gathers rewards over ranks
        batch = Batch(self.trainer, scored, output, scored["rewards"][first : first + count].tolist())
        size, version = self._group_size(training), int(self.trainer.state.global_step)
        numbers = range(first, first + count)
        return {
            "id": [f"{self._batches}.{i}" for i in numbers],
            "group": [f"{self._batches}.{i // size}" for i in numbers],
            "repeat": [i % size for i in numbers],
            "split": ["train" if training else "eval"] * count,
            "policy_version_min": [version] * count,
            "policy_version_max": [version] * count,
            **batch.columns(),
            **(batch.fates() if training else {}),
        }

    def _group_size(self, training: bool) -> int:
        size = self.trainer.num_generations
        return int(size if training else getattr(self.trainer, "num_generations_eval", size))

    def _enter_loss(self, model: Any, inputs: Any, *_: Any) -> None:
        index = inputs.get(INDEX)
        training = bool(self.trainer.model.training)
        self._loss_index = index.tolist() if index is not None and training else None
        self._loss_has_old = inputs.get("old_per_token_logps") is not None

    def _leave_loss(self) -> None:
        """Say when samples were trained on, of a loss that showed no tokens (unsloth, Liger)."""
        index, self._loss_index = self._loss_index, None
        if index is not None and self.callback.run is not None and not self._again(index):
            self.callback.run.log_samples(self._trained(index), step=self._now())

    def _on_tokens(self, result: Any, *_: Any, **__: Any) -> None:
        """Add the per-token log-probabilities and entropies of the loss to their samples.

        Copies are made without waiting for the device.
        """
        index = self._loss_index
        if index is None or self.callback.run is None or result[0] is None or len(result[0]) != len(index):
            return
        self._loss_index = None
        if self._again(index):
            return
        logps, entropies = (None if part is None else _rows(part) for part in result[:2])
        lengths = [self._live[i][1] for i in index]
        columns: Columns = {**self._trained(index), "logp": cut(logps, lengths)}
        if entropies is not None:
            columns["entropy"] = cut(entropies, lengths)
        if not self._loss_has_old:  # TRL uses the current ones, detached: the ratio is 1
            columns["old_logp"] = columns["logp"]
        self.callback.run.log_samples(columns, step=self._now())

    def _again(self, index: list[int]) -> bool:
        """Was there an update with these samples before (`num_iterations`)?

        Samples are at the step of the first one, and so are the tokens of its loss.
        """
        return all(i in self._consumed for i in index)

    def _trained(self, index: list[int]) -> Columns:
        """When samples were first trained on, and how many updates after they were written."""
        steps = [self._consumed.setdefault(i, self._now()) for i in index]
        off_policy = [step - 1 - self._version for step in steps]
        return {"id": [self._live[i][0] for i in index], "step": steps, "off_policy_steps": off_policy}

    def _now(self) -> int:
        return int(self.trainer.state.global_step) + 1


def _rows(tensor: Any) -> Any:
    """Rows that can be sliced: numpy for a tensor on the CPU, which is cheaper to slice.

    A tensor on a device stays there, to be copied without waiting.
    """
    tensor = tensor.detach()
    return tensor if tensor.is_cuda else tensor.float().numpy()
