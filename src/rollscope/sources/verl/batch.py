"""The batch of a veRL update as columns of one entry for each sample, without padding.

A `DataProto` holds padded tensors and arrays of objects in the trainer's process. A `KVBatchMeta`
holds keys of TransferQueue, which keeps tensors of each sample's own length. Nothing is copied that
numpy can look at in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

TOKENS = {  # veRL's name of values for each token of the response -> our column
    "rollout_log_probs": "rollout_logp",
    "old_log_probs": "old_logp",
    "ref_log_prob": "ref_logp",
    "entropy": "entropy",
    "advantages": "token_advantages",
}
SCORES = ("token_level_scores", "rm_scores")
MASKS = ("response_mask", "loss_mask")  # what is in the loss; what the policy wrote, where both are kept
FIELDS = ("prompts", "responses", *MASKS, *TOKENS, *SCORES, "token_level_rewards")
CORE = ("prompts", "responses", "response_mask", "advantages", "rm_scores", "uid")  # of every sample in the queue
WORDS = (  # of a sample in TransferQueue, beside its tensors
    *("uid", "data_source", "reward_model", "extra_info", "index", "num_turns", "extra_fields"),
    *("metrics", "agent_name"),
)
Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Batch:
    """A batch as columns of one entry for each sample."""

    step: int
    ids: list[str]
    tokens: dict[str, list[Array]]
    words: dict[str, list[Any]]
    parts: tuple[str, ...] = ()  # the words that the reward function gave beside the score
    longest: int | None = None  # the most tokens of a response
    now: int | None = None  # version of the weights that this batch is to update
    on_policy: bool = False  # those weights wrote every sample that has no version of its own

    def column(self, name: str) -> list[Any]:
        """The words of one name; None for each sample if there are none."""
        return self.words[name] if name in self.words else [None] * len(self.ids)


def of_proto(batch: Any, step: int, number: int, entropy: Any = None) -> Batch:
    """A batch of padded tensors: prompts are padded on the left, responses on the right."""
    tensors = {name: batch.batch[name] for name in FIELDS if name in set(batch.batch.keys())}
    if entropy is not None and entropy.shape == tensors["responses"].shape:
        tensors["entropy"] = entropy
    attention = batch.batch["attention_mask"]
    before = attention[:, : tensors["prompts"].shape[1]].sum(1).tolist()
    after = attention[:, -tensors["responses"].shape[1] :].sum(1).tolist()
    tokens = {
        name: _left(array(tensor), before) if name == "prompts" else _right(array(tensor), after)
        for name, tensor in tensors.items()
    }
    words = {str(name): list(values) for name, values in batch.non_tensor_batch.items()}
    ids = [f"train/{number}/{i}" for i in range(len(after))]
    return Batch(step, ids, tokens, words, tuple(batch.meta_info.get("reward_extra_keys") or ()))


def of_queue(meta: Any, step: int) -> Batch | None:
    """A batch that TransferQueue holds. Samples that only fill up the batch are left out."""
    kept = [(key, tag) for key, tag in zip(meta.keys, meta.tags, strict=True) if not tag.get("is_padding")]
    if not kept:
        return None
    keys = [key for key, _ in kept]
    data = _fetched(keys, meta.partition_id)
    present = set(data.keys())
    tokens = {name: [array(row) for row in data[name].unbind()] for name in FIELDS if name in present}
    words = {name: _listed(data[name], len(keys)) for name in WORDS if name in present}
    for name in ("min_global_steps", "max_global_steps"):
        words[name] = [tag.get(name) for _, tag in kept]
    return Batch(step, [f"train/{step}/{key}" for key in keys], tokens, _spread(words))


def _fetched(keys: list[str], partition: str) -> Any:
    """What the queue has of these samples: all that we know, else what every trainer needs.

    The queue refuses a field that only some of the samples have.
    """
    from transfer_queue import kv_batch_get

    try:
        return kv_batch_get(keys=keys, partition_id=partition, select_fields=[*FIELDS, *WORDS])
    except ValueError:
        return kv_batch_get(keys=keys, partition_id=partition, select_fields=list(CORE))


def array(tensor: Any) -> Array:
    """A tensor as numpy sees it, in a type that numpy has."""
    tensor = tensor.detach().cpu()
    found: Array = (tensor.float() if tensor.dtype.is_floating_point else tensor).numpy()
    return found


def _left(rows: Array, lengths: list[int]) -> list[Array]:
    return [row[len(row) - length :] for row, length in zip(rows, lengths, strict=True)]


def _right(rows: Array, lengths: list[int]) -> list[Array]:
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def _listed(values: Any, count: int) -> list[Any]:
    """Words of all samples: TransferQueue gives a list, a stack, an array, or one for all."""
    found = values.tolist() if hasattr(values, "tolist") else list(values) if isinstance(values, Iterable) else values
    return list(found) if isinstance(found, (list, tuple)) and len(found) == count else [found] * count


def _spread(words: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The words with those that an agent loop put into `extra_fields`."""
    rows = [extra if isinstance(extra, Mapping) else {} for extra in words.pop("extra_fields", [])]
    for name in {name for extra in rows for name in extra} - words.keys():
        words[name] = [extra.get(name) for extra in rows]
    return words
