"""This rank's part of a batch of GRPO or RLOO, as columns of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.sources.intake.gather import digest
from rollscope.sources.intake.tables import text
from rollscope.store.log.lists import Lists

from .turns import turns

Columns = dict[str, Any]  # name -> one value a sample
ANSWERS = ("answer", "solution", "ground_truth", "target", "label")  # columns of a dataset
TOKENS = {  # our column -> key of TRL's batch
    "old_logp": "old_per_token_logps",
    "ref_logp": "ref_per_token_logps",
    "rollout_logp": "sampling_per_token_logps",
}


class Batch:
    """This rank's part of a batch, on the host, with the arguments of the reward step."""

    def __init__(self, trainer: Any, scored: dict[str, Any], output: dict[str, Any], rewards: list[Any]) -> None:
        self._scored = scored
        self._rewards = rewards
        self._reward_names, self._weights = trainer.reward_func_names, trainer.reward_weights.tolist()
        self._advantages = output["advantages"].tolist()
        self._prompt_tokens = [int(n) for n in output["prompt_mask"].sum(1).tolist()]
        self._completion_ids = output["completion_ids"].cpu().numpy()
        self._missing = _missing(trainer, output)
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
            "token_ids": cut(self._completion_ids, lengths),
            "answer": self._answers,
            **{name: cut(rows, lengths) for name, rows in self._columns.items()},
            **self._told(lengths),
            **chats(prompts, completions),
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
        mask = cut(self._tool_mask, lengths)
        return {"completion_tokens": mask.sums().astype(int).tolist(), "action_mask": mask}

    def _extra(self) -> Columns:
        if not (extra := self._scored["extra"]):
            return {}
        count = len(self._scored["prompts"])
        return {"extra": [{name: v[i] for name, v in extra.items() if i < len(v)} for i in range(count)]}

    def fates(self) -> Columns:
        return {"trained": [reason is None for reason in self._missing], "discard_reason": self._missing}


def _missing(trainer: Any, output: dict[str, Any]) -> list[str | None]:
    """Why samples are not in the loss; None for those that are.

    TRL masks truncated completions. It also masks those whose probability differs too much between
    vLLM and the trainer, and leaves them only their KL, if there is a coefficient.
    """
    mask, ratio = output["completion_mask"], output.get("importance_sampling_ratio")
    inside = weighed = mask.any(1)
    if ratio is not None and not trainer.beta and getattr(trainer, "loss_type", None) != "vespo":
        weighed = (mask * output.get("tool_mask", 1) * ratio).any(1)
    pairs = zip(inside.tolist(), weighed.tolist(), strict=True)
    return [None if counts else "importance_ratio" if there else "truncated" for there, counts in pairs]


def chats(prompts: list[Any], completions: list[Any]) -> Columns:
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


def cut(rows: Any, lengths: list[int]) -> Any:
    """Rows without their padding. Those of a tensor on a device are cut there, one by one."""
    if not isinstance(rows, np.ndarray):
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]
    kept = np.minimum(lengths, rows.shape[1])
    return Lists(rows[np.arange(rows.shape[1]) < kept[:, None]], kept)


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
