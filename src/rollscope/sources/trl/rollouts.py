"""Every sample of GRPO and RLOO, joined before the trainer shuffles them.

Rewards are caught where they are computed and the rest where the batch is put together, both in the order of generation. An index travels with the
batch through the shuffle, so that what the loss computes for each token finds its sample again.
"""

from __future__ import annotations

import hashlib
from typing import Any

from rollscope.sources.intake.tables import text

from .callback import RollscopeCallback
from .wrap import after, around

INDEX = "rollscope_index"
ANSWERS = ("answer", "solution", "ground_truth", "target", "label")


class Rollouts:
    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._scored: dict[str, Any] | None = None  # what the reward step saw, until the batch is complete
        self._batches = 0
        self._live: dict[int, tuple[str, int]] = {}  # index that travels with the batch -> sample id, tokens
        self._consumed: dict[int, int] = {}  # the same index -> the update that first took it
        self._loss_index: list[int] | None = None
        self._loss_has_old = False

    def watch(self) -> None:
        """Wrap the methods that are there; a trainer without them (DPO, KTO, SFT, ...) has no rollouts."""
        for name, then in (("_calculate_rewards", self._rewards), ("_generate_and_score_completions", self._batch)):
            if hasattr(self.trainer, name):
                after(self.trainer, name, then)
        if hasattr(self.trainer, "_compute_loss") and hasattr(self.trainer, "_get_per_token_logps_and_entropies"):
            around(self.trainer, "_compute_loss", self._enter_loss, self._leave_loss)
            after(self.trainer, "_get_per_token_logps_and_entropies", self._tokens)

    def _rewards(
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

    def _batch(self, output: dict[str, Any], inputs: Any, *_: Any) -> None:
        import torch

        seen, self._scored = self._scored, None
        run = self.callback.begin(self.trainer.args, self.trainer.state)
        if seen is None or run is None:
            return
        self._batches += 1
        training = bool(self.trainer.model.training)
        samples = self._samples(seen, output, training)
        run.log_samples(samples, step=self.trainer.state.global_step + (1 if training else 0))
        if training:
            self._live = {i: (sample["id"], sample["response_tokens"]) for i, sample in enumerate(samples)}
            self._consumed = {}
            output[INDEX] = torch.arange(len(samples))

    def _samples(self, seen: dict[str, Any], output: dict[str, Any], training: bool) -> list[dict[str, Any]]:
        trainer, count = self.trainer, len(seen["prompts"])
        first = trainer.accelerator.process_index * count
        rewards = seen["rewards"][first : first + count].tolist()
        advantages, prompt_tokens = output["advantages"].tolist(), output["prompt_mask"].sum(1).tolist()
        columns = {
            ours: output[theirs].float().cpu().numpy()
            for ours, theirs in _TOKENS.items()
            if output.get(theirs) is not None
        }
        tools = output["tool_mask"].cpu().numpy() if output.get("tool_mask") is not None else None
        groups = (
            trainer.num_generations if training else getattr(trainer, "num_generations_eval", trainer.num_generations)
        )
        ends, weights, answers = _ends(trainer), trainer.reward_weights.tolist(), _answers(seen["inputs"])
        tokens = output["completion_ids"].cpu().numpy()
        kept = output["completion_mask"].any(1).tolist()
        samples, tasks = [], dict[str, str]()
        for i, (prompt, completion, ids) in enumerate(
            zip(seen["prompts"], seen["completions"], seen["ids"], strict=True)
        ):
            where, said = first + i, text(prompt) or ""
            task = tasks.get(said) or tasks.setdefault(
                said, hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            )
            names = dict(zip(trainer.reward_func_names, rewards[i], strict=True))
            sampled = None if tools is None else tools[i, : len(ids)]
            sample: dict[str, Any] = {
                "id": f"{self._batches}.{where}",
                "group": f"{self._batches}.{where // groups}",
                "task": task,
                "repeat": where % groups,
                "split": "train" if training else "eval",
                "prompt": said,
                "completion": text(completion),
                "reward": _weighted(rewards[i], weights),
                "rewards": {
                    name: value for name, value in names.items() if value == value
                },  # NaN: the function said nothing of this one
                "advantage": advantages[i],
                "prompt_tokens": int(prompt_tokens[i]),
                "completion_tokens": len(ids) if sampled is None else int(sampled.sum()),
                "response_tokens": len(ids),
                "stop_reason": "length" if ids and ids[-1] not in ends else "stop",
                "token_ids": tokens[i, : len(ids)],
                "answer": answers[i],
                **{name: rows[i, : len(ids)] for name, rows in columns.items() if rows.ndim == 2},
            }
            if isinstance(prompt, list) and isinstance(completion, list):
                sample["messages"] = [*prompt, *completion]
            if seen["extra"]:
                sample["extra"] = {name: values[i] for name, values in seen["extra"].items() if i < len(values)}
            if sampled is not None:
                sample["action_mask"] = sampled
            if training:
                sample |= {"trained": True} if kept[i] else {"trained": False, "discard_reason": "truncated"}
            samples.append(sample)
        return samples

    def _enter_loss(self, model: Any, inputs: Any, *_: Any) -> None:
        index = inputs.get(INDEX)
        training = bool(self.trainer.model.training)
        self._loss_index = index.tolist() if index is not None and training else None
        self._loss_has_old = inputs.get("old_per_token_logps") is not None

    def _leave_loss(self) -> None:
        self._loss_index = None

    def _tokens(self, found: Any, *_: Any, **__: Any) -> None:
        """Per-token log-probabilities and entropies of the loss, filled in under the samples' ids; copies are made without waiting for the device."""
        index, self._loss_index = self._loss_index, None
        if index is None or self.callback.run is None:
            return
        logps, entropies = (None if part is None else _rows(part) for part in found[:2])
        if logps is None or len(logps) != len(index):
            return
        now, rows = self.trainer.state.global_step + 1, []
        for row, i in enumerate(index):
            id, length = self._live[i]
            sample: dict[str, Any] = {"id": id, "step": self._consumed.setdefault(i, now), "logp": logps[row, :length]}
            if entropies is not None:
                sample["entropy"] = entropies[row, :length]
            if not self._loss_has_old:  # then TRL takes the current ones, detached: the ratio is exactly 1
                sample["old_logp"] = sample["logp"]
            rows.append(sample)
        self.callback.run.log_samples(rows, step=now)


def _rows(tensor: Any) -> Any:
    """Rows that can be cut: on the CPU as numpy, which is cheaper to slice; on a device as they are, to be copied without waiting."""
    tensor = tensor.detach()
    return tensor if tensor.is_cuda else tensor.float().numpy()


_TOKENS = {
    "old_logp": "old_per_token_logps",
    "ref_logp": "ref_per_token_logps",
    "rollout_logp": "sampling_per_token_logps",
}


def _weighted(rewards: list[float], weights: list[float]) -> float | None:
    """TRL's total: the weighted sum over the functions that said something; None when none did."""
    known = [r * w for r, w in zip(rewards, weights, strict=True) if r == r]
    return sum(known) if known else None


def _ends(trainer: Any) -> set[int]:
    """Tokens that end a completion, as the trainer counts them for `completions/clipped_ratio`."""
    tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
    several = getattr(trainer, "eos_token_ids", None) or [getattr(trainer, "eos_token_id", None)]
    return {token for token in [*several, getattr(tokenizer, "pad_token_id", None)] if token is not None}


def _answers(inputs: Any) -> list[str | None]:
    """What the dataset says is right, of each row."""
    names = [name for name in ANSWERS if any(name in row for row in inputs)]
    return [next((text(row[name]) for name in names if row.get(name) is not None), None) for row in inputs]
