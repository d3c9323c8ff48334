"""Samples of GRPO and RLOO, put together before the trainer shuffles them.

Rewards are recorded where they are computed, the rest where the batch is put together; both are in
the order of generation. An index goes through the shuffle with the batch, so that the per-token
results of the loss can be joined to their samples.
"""

from __future__ import annotations

from typing import Any

from rollscope.sources.intake.gather import digest
from rollscope.sources.intake.tables import text
from rollscope.sources.live.wrap import after, around

from .callback import RollscopeCallback
from .turns import turns

INDEX = "rollscope_index"
ANSWERS = ("answer", "solution", "ground_truth", "target", "label")  # columns of a dataset
TOKENS = {  # our column -> key of TRL's batch
    "old_logp": "old_per_token_logps",
    "ref_logp": "ref_per_token_logps",
    "rollout_logp": "sampling_per_token_logps",
}


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
        if hasattr(self.trainer, "_compute_loss") and hasattr(self.trainer, "_get_per_token_logps_and_entropies"):
            around(self.trainer, "_compute_loss", self._enter_loss, self._leave_loss)
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
            self._live = {i: (sample["id"], sample["response_tokens"]) for i, sample in enumerate(samples)}
            self._consumed = {}
            output[INDEX] = torch.arange(len(samples))

    def _samples(self, scored: dict[str, Any], output: dict[str, Any], training: bool) -> list[dict[str, Any]]:
        """One sample per completion: what the reward step saw, joined with what the batch holds."""
        count = len(scored["prompts"])
        first = self.trainer.accelerator.process_index * count  # TRL gathers rewards over ranks
        batch = _Batch(self.trainer, scored, output, scored["rewards"][first : first + count].tolist())
        group_size, version = self._group_size(training), int(self.trainer.state.global_step)
        samples = []
        for i in range(count):
            index = first + i
            samples.append(
                {
                    "id": f"{self._batches}.{index}",
                    "group": f"{self._batches}.{index // group_size}",
                    "repeat": index % group_size,
                    "split": "train" if training else "eval",
                    "policy_version_min": version,
                    "policy_version_max": version,
                    **batch.sample(i),
                    **(batch.fate(i) if training else {}),
                }
            )
        return samples

    def _group_size(self, training: bool) -> int:
        size = self.trainer.num_generations
        return int(size if training else getattr(self.trainer, "num_generations_eval", size))

    def _enter_loss(self, model: Any, inputs: Any, *_: Any) -> None:
        index = inputs.get(INDEX)
        training = bool(self.trainer.model.training)
        self._loss_index = index.tolist() if index is not None and training else None
        self._loss_has_old = inputs.get("old_per_token_logps") is not None

    def _leave_loss(self) -> None:
        self._loss_index = None

    def _on_tokens(self, result: Any, *_: Any, **__: Any) -> None:
        """Add the per-token log-probabilities and entropies of the loss to their samples.

        Copies are made without waiting for the device.
        """
        index, self._loss_index = self._loss_index, None
        if index is None or self.callback.run is None:
            return
        logps, entropies = (None if part is None else _rows(part) for part in result[:2])
        if logps is None or len(logps) != len(index):
            return
        now, rows = self.trainer.state.global_step + 1, []
        for row, i in enumerate(index):
            id, length = self._live[i]
            step = self._consumed.setdefault(i, now)
            sample: dict[str, Any] = {"id": id, "step": step, "logp": logps[row, :length]}
            sample["off_policy_steps"] = step - 1 - self._version
            if entropies is not None:
                sample["entropy"] = entropies[row, :length]
            if not self._loss_has_old:  # TRL uses the current ones, detached: the ratio is 1
                sample["old_logp"] = sample["logp"]
            rows.append(sample)
        self.callback.run.log_samples(rows, step=now)


class _Batch:
    """This rank's part of a batch, on the host, with the arguments of the reward step."""

    def __init__(self, trainer: Any, scored: dict[str, Any], output: dict[str, Any], rewards: list[Any]) -> None:
        self._scored = scored
        self._rewards = rewards
        self._reward_names, self._weights = trainer.reward_func_names, trainer.reward_weights.tolist()
        self._advantages = output["advantages"].tolist()
        self._prompt_tokens = output["prompt_mask"].sum(1).tolist()
        self._completion_ids = output["completion_ids"].cpu().numpy()
        self._kept = output["completion_mask"].any(1).tolist()
        self._tool_mask = output["tool_mask"].cpu().numpy() if output.get("tool_mask") is not None else None
        present = {ours: output[theirs] for ours, theirs in TOKENS.items() if output.get(theirs) is not None}
        columns = {name: tensor.float().cpu().numpy() for name, tensor in present.items()}
        self._columns = {name: rows for name, rows in columns.items() if rows.ndim == 2}
        self._end_tokens, self._answers = _end_tokens(trainer), _answers(scored["inputs"])
        self._tasks: dict[str, str] = {}  # prompt -> task

    def sample(self, i: int) -> dict[str, Any]:
        prompt, completion, ids = (self._scored[key][i] for key in ("prompts", "completions", "ids"))
        rewards, length = self._rewards[i], len(ids)
        prompt_text = text(prompt) or ""
        mask = None if self._tool_mask is None else self._tool_mask[i, :length]
        sample: dict[str, Any] = {
            "task": self._task(prompt_text),
            "prompt": prompt_text,
            "completion": text(completion),
            "reward": _weighted(rewards, self._weights),
            "rewards": _by_name(self._reward_names, rewards),
            "advantage": self._advantages[i],
            "prompt_tokens": int(self._prompt_tokens[i]),
            "completion_tokens": length if mask is None else int(mask.sum()),
            "response_tokens": length,
            "stop_reason": "length" if ids and ids[-1] not in self._end_tokens else "stop",
            "token_ids": self._completion_ids[i, :length],
            "answer": self._answers[i],
            **{name: rows[i, :length] for name, rows in self._columns.items()},
        }
        if isinstance(prompt, list) and isinstance(completion, list):
            sample["messages"] = [*prompt, *completion]
            sample["turns"] = turns(completion) or 1
        if extra := self._scored["extra"]:
            sample["extra"] = {name: values[i] for name, values in extra.items() if i < len(values)}
        if mask is not None:
            sample["action_mask"] = mask
        return sample

    def fate(self, i: int) -> dict[str, Any]:
        """TRL masks truncated completions out of the loss."""
        return {"trained": True} if self._kept[i] else {"trained": False, "discard_reason": "truncated"}

    def _task(self, prompt: str) -> str:
        return self._tasks.get(prompt) or self._tasks.setdefault(prompt, digest(prompt))


def _rows(tensor: Any) -> Any:
    """Rows that can be sliced: numpy for a tensor on the CPU, which is cheaper to slice.

    A tensor on a device stays there, to be copied without waiting.
    """
    tensor = tensor.detach()
    return tensor if tensor.is_cuda else tensor.float().numpy()


def _by_name(names: list[str], rewards: list[float]) -> dict[str, float]:
    """Rewards by function; NaN means that the function returned nothing, and is left out."""
    return {name: value for name, value in zip(names, rewards, strict=True) if value == value}


def _weighted(rewards: list[float], weights: list[float]) -> float | None:
    """TRL's total: the weighted sum over the functions that returned a reward; None if none did."""
    known = [r * w for r, w in zip(rewards, weights, strict=True) if r == r]
    return sum(known) if known else None


def _end_tokens(trainer: Any) -> set[int]:
    """Tokens that end a completion, as the trainer counts them for `completions/clipped_ratio`."""
    tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
    several = getattr(trainer, "eos_token_ids", None) or [getattr(trainer, "eos_token_id", None)]
    return {token for token in [*several, getattr(tokenizer, "pad_token_id", None)] if token is not None}


def _answers(inputs: Any) -> list[str | None]:
    """The right answer of each row, from the dataset."""
    names = [name for name in ANSWERS if any(name in row for row in inputs)]
    return [next((text(row[name]) for name in names if row.get(name) is not None), None) for row in inputs]
