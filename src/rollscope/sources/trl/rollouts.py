"""Samples of GRPO and RLOO, put together before the trainer shuffles them.

Rewards are recorded where they are computed, the rest where the batch is put together; both are in
the order of generation. An index goes through the shuffle with the batch, so that the per-token
results of the loss can be joined to their samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.sources.intake.gather import digest
from rollscope.sources.intake.tables import text
from rollscope.sources.live.wrap import after, around
from rollscope.store.log.lists import Lists

from .callback import RollscopeCallback
from .turns import turns

Columns = dict[str, Any]  # name -> one value a sample
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
        batch = _Batch(self.trainer, scored, output, scored["rewards"][first : first + count].tolist())
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
        if index is not None and self.callback.run is not None:
            self.callback.run.log_samples(self._trained(index), step=self._now())

    def _on_tokens(self, result: Any, *_: Any, **__: Any) -> None:
        """Add the per-token log-probabilities and entropies of the loss to their samples.

        Copies are made without waiting for the device.
        """
        index = self._loss_index
        if index is None or self.callback.run is None or result[0] is None or len(result[0]) != len(index):
            return
        self._loss_index = None
        logps, entropies = (None if part is None else _rows(part) for part in result[:2])
        lengths = [self._live[i][1] for i in index]
        columns: Columns = {**self._trained(index), "logp": _cut(logps, lengths)}
        if entropies is not None:
            columns["entropy"] = _cut(entropies, lengths)
        if not self._loss_has_old:  # TRL uses the current ones, detached: the ratio is 1
            columns["old_logp"] = columns["logp"]
        self.callback.run.log_samples(columns, step=self._now())

    def _trained(self, index: list[int]) -> Columns:
        """When samples were first trained on, and how many updates after they were written."""
        steps = [self._consumed.setdefault(i, self._now()) for i in index]
        off_policy = [step - 1 - self._version for step in steps]
        return {"id": [self._live[i][0] for i in index], "step": steps, "off_policy_steps": off_policy}

    def _now(self) -> int:
        return int(self.trainer.state.global_step) + 1


class _Batch:
    """This rank's part of a batch, on the host, with the arguments of the reward step."""

    def __init__(self, trainer: Any, scored: dict[str, Any], output: dict[str, Any], rewards: list[Any]) -> None:
        self._scored = scored
        self._rewards = rewards
        self._reward_names, self._weights = trainer.reward_func_names, trainer.reward_weights.tolist()
        self._advantages = output["advantages"].tolist()
        self._prompt_tokens = [int(n) for n in output["prompt_mask"].sum(1).tolist()]
        self._completion_ids = output["completion_ids"].cpu().numpy()
        self._kept = output["completion_mask"].any(1).tolist()
        self._tool_mask = output["tool_mask"].cpu().numpy() if output.get("tool_mask") is not None else None
        present = {ours: output[theirs] for ours, theirs in TOKENS.items() if output.get(theirs) is not None}
        columns = {name: tensor.float().cpu().numpy() for name, tensor in present.items()}
        self._prompt_ids, self._pad_token = output["prompt_ids"], _pad_token(trainer)
        aligned = {name: self._aligned(rows) for name, rows in columns.items() if rows.ndim == 2}
        self._columns = {name: rows for name, rows in aligned.items() if rows is not None}
        self._end_tokens, self._answers = _end_tokens(trainer), _answers(scored["inputs"])

    def columns(self) -> Columns:
        prompts, completions, ids = (self._scored[key] for key in ("prompts", "completions", "ids"))
        texts, lengths = [text(prompt) or "" for prompt in prompts], [len(row) for row in ids]
        tasks = {prompt: digest(prompt) for prompt in dict.fromkeys(texts)}
        ended = [row[-1] in self._end_tokens if row else True for row in ids]
        return {
            "task": [tasks[prompt] for prompt in texts],
            "prompt": texts,
            "completion": [text(completion) for completion in completions],
            "reward": [_weighted(rewards, self._weights) for rewards in self._rewards],
            "rewards": [_by_name(self._reward_names, rewards) for rewards in self._rewards],
            "advantage": self._advantages,
            "prompt_tokens": self._prompt_tokens,
            "response_tokens": lengths,
            "stop_reason": ["stop" if one else "length" for one in ended],
            "token_ids": _cut(self._completion_ids, lengths),
            "answer": self._answers,
            **{name: _cut(rows, lengths) for name, rows in self._columns.items()},
            **self._told(lengths),
            **_chats(prompts, completions),
            **self._extra(),
        }

    def _aligned(self, rows: Any) -> Any:
        """Rows that begin with their completion; None if it is not known where that is.

        unsloth puts a prompt's padding behind the completion before it scores them. Its rows are
        wider by the most padding of the batch, and begin with the ends of the prompts with less.
        """
        width = self._completion_ids.shape[1]
        more = rows.shape[1] - width
        if more <= 0:
            return rows
        padding = (self._prompt_ids == self._pad_token).sum(1).cpu().numpy()
        if padding.max() != more:
            return None
        return np.take_along_axis(rows, (more - padding)[:, None] + np.arange(width), axis=1)

    def _told(self, lengths: list[int]) -> Columns:
        """What of a completion the policy wrote: TRL masks the answers of tools."""
        if self._tool_mask is None:
            return {"completion_tokens": lengths}
        mask = _cut(self._tool_mask, lengths)
        return {"completion_tokens": mask.sums().astype(int).tolist(), "action_mask": mask}

    def _extra(self) -> Columns:
        if not (extra := self._scored["extra"]):
            return {}
        count = len(self._scored["prompts"])
        return {"extra": [{name: v[i] for name, v in extra.items() if i < len(v)} for i in range(count)]}

    def fates(self) -> Columns:
        """TRL masks truncated completions out of the loss."""
        return {"trained": self._kept, "discard_reason": [None if kept else "truncated" for kept in self._kept]}


def _chats(prompts: list[Any], completions: list[Any]) -> Columns:
    """Messages and turns of the samples that are chats."""
    pairs = [*zip(prompts, completions, strict=True)]
    chats = [isinstance(prompt, list) and isinstance(completion, list) for prompt, completion in pairs]
    if not any(chats):
        return {}
    both = [*zip(pairs, chats, strict=True)]
    return {
        "messages": [[*prompt, *completion] if chat else None for (prompt, completion), chat in both],
        "turns": [(turns(completion) or 1) if chat else None for (_, completion), chat in both],
    }


def _cut(rows: Any, lengths: list[int]) -> Any:
    """Rows without their padding. Those of a tensor on a device are cut there, one by one."""
    if not isinstance(rows, np.ndarray):
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]
    kept = np.minimum(lengths, rows.shape[1])
    return Lists(rows[np.arange(rows.shape[1]) < kept[:, None]], kept)


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
    several = getattr(trainer, "eos_token_ids", None) or [getattr(trainer, "eos_token_id", None)]
    return {token for token in [*several, _pad_token(trainer)] if token is not None}


def _pad_token(trainer: Any) -> int | None:
    tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
    return getattr(tokenizer, "pad_token_id", None)


def _answers(inputs: Any) -> list[str | None]:
    """The right answer of each row, from the dataset."""
    names = [name for name in ANSWERS if any(name in row for row in inputs)]
    return [next((text(row[name]) for name in names if row.get(name) is not None), None) for row in inputs]
