"""The batch of a veRL update as columns of one entry for each sample, without padding.

A `DataProto` holds padded tensors and arrays of objects in the trainer's process. A `KVBatchMeta`
holds keys of TransferQueue, which keeps tensors of each sample's own length. The trainer's thread
copies nothing that numpy can look at in place; ours cuts the padding off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rollscope.store.log.lists import Lists

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
    tokens: dict[str, Lists]
    words: dict[str, list[Any]]
    parts: tuple[str, ...] = ()  # the words that the reward function gave beside the score
    longest: int | None = None  # the most tokens of a response
    now: int | None = None  # version of the weights that this batch is to update
    on_policy: bool = False  # those weights wrote every sample that has no version of its own

    def column(self, name: str) -> list[Any]:
        """The words of one name; None for each sample if there are none."""
        return self.words[name] if name in self.words else [None] * len(self.ids)


class Held(NamedTuple):
    """What a `DataProto` holds: padded tensors as numpy sees them, and words."""

    tensors: dict[str, Array]
    words: dict[str, Any]
    parts: tuple[str, ...]


def hold(batch: Any, entropy: Any = None) -> Held:
    """All that is recorded of a `DataProto`."""
    present = set(batch.batch.keys())
    tensors = {name: array(batch.batch[name]) for name in ("attention_mask", *FIELDS) if name in present}
    if entropy is not None and entropy.shape == tensors["responses"].shape:
        tensors["entropy"] = array(entropy)
    return Held(tensors, dict(batch.non_tensor_batch), tuple(batch.meta_info.get("reward_extra_keys") or ()))


def of_proto(held: Held, step: int, number: int) -> Batch:
    """A batch of padded tensors: prompts are padded on the left, responses on the right."""
    tensors = dict(held.tensors)
    attention, prompts = tensors.pop("attention_mask"), tensors.pop("prompts")
    before = attention[:, : prompts.shape[1]].sum(1, dtype=np.int64)
    after = attention[:, -tensors["responses"].shape[1] :].sum(1, dtype=np.int64)
    tokens = _right(tensors, after)
    tokens["prompts"] = Lists(prompts[np.arange(prompts.shape[1]) >= prompts.shape[1] - before[:, None]], before)
    words = {str(name): list(values) for name, values in held.words.items()}
    return Batch(step, [f"train/{number}/{i}" for i in range(len(after))], tokens, words, held.parts)


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


def _rows(tensor: Any) -> Lists:
    """The rows of a tensor. Those of a jagged one lie in it as we keep them."""
    jagged = str(tensor.layout) == "torch.jagged" and tensor.dim() == 2
    if not jagged or tensor.lengths() is not None:  # the latter has gaps between its rows
        return Lists.of([array(row) for row in tensor.unbind()])
    offsets = array(tensor.offsets())
    return Lists(array(tensor.values())[offsets[0] : offsets[-1]], np.diff(offsets))


def array(tensor: Any) -> Array:
    """A tensor as numpy sees it, in a type that numpy has."""
    tensor = tensor.detach().cpu()
    found: Array = (tensor.float() if tensor.dtype.is_floating_point else tensor).numpy()
    return found


def _right(tensors: dict[str, Array], lengths: Array) -> dict[str, Lists]:
    """Rows without their padding, which nearly always lies at the same places in all tensors."""
    shape = tensors["responses"].shape
    places = np.flatnonzero(np.arange(shape[1]) < lengths[:, None])
    return {
        name: Lists(rows.reshape(-1).take(places), lengths)
        if rows.shape == shape
        else Lists.of([row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)])
        for name, rows in tensors.items()
    }


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
