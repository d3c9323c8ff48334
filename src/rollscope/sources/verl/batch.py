"""The batch of a veRL update as columns of one entry for each sample, without padding.

A `DataProto` holds padded tensors and arrays of objects in the trainer's process. A `KVBatchMeta`
holds keys of TransferQueue, which keeps tensors of each sample's own length. Nothing is copied that
numpy can look at in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

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
    *("uid", "data_source", "reward_model", "extra_info", "num_turns", "extra_fields", "metrics"),
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


class Fetched(NamedTuple):
    """What TransferQueue gave for a batch: it forgets the samples once the step is over."""

    keys: list[str]
    tags: list[Mapping[str, Any]]
    data: Any


def fetch(meta: Any) -> Fetched | None:
    """A batch that TransferQueue holds. Samples that only fill up the batch are left out."""
    kept = [(key, tag) for key, tag in zip(meta.keys, meta.tags, strict=True) if not tag.get("is_padding")]
    keys = [key for key, _ in kept]
    return Fetched(keys, [tag for _, tag in kept], _fetched(keys, meta.partition_id)) if kept else None


def of_queue(found: Fetched, step: int) -> Batch:
    """The columns of a batch that was fetched. Takes longer than fetching: not for the trainer."""
    keys, tags, data = found
    present = set(data.keys())
    tokens = {name: _rows(data[name]) for name in FIELDS if name in present}
    words = {name: _listed(data[name], len(keys)) for name in WORDS if name in present}
    for name in ("min_global_steps", "max_global_steps"):
        words[name] = [tag.get(name) for tag in tags]
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


def _rows(tensor: Any) -> list[Array]:
    """The rows of a tensor. Those of a jagged one are cut here: `unbind` checks each in Python."""
    jagged = str(tensor.layout) == "torch.jagged" and tensor.dim() == 2
    if not jagged or tensor.lengths() is not None:  # the latter has gaps between its rows
        return [array(row) for row in tensor.unbind()]
    values = array(tensor.values())
    return [values[start:end] for start, end in pairwise(tensor.offsets().tolist())]


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
