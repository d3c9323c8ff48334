"""The tokens of ms-swift's micro-batches: the part of each row that is a response.

A row of a micro-batch covers the ends of its samples, padded; a mask says which of its tokens the
policy wrote. What a tool said in between belongs to the response.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
STREAMS = {  # our column -> field of ms-swift's batch
    "old_logp": "old_per_token_logps",
    "ref_logp": "ref_per_token_logps",
    "rollout_logp": "rollout_per_token_logps",
}
IGNORED = -100  # the label of a token that the policy did not write


class Row(NamedTuple):
    """The response in a row of a micro-batch."""

    start: int
    end: int
    mask: Array  # of the response: what the policy wrote
    ids: list[int] | None
    prompt_tokens: int | None
    streams: dict[str, Array]

    def columns(self) -> dict[str, Any]:
        """The columns of the sample."""
        found: dict[str, Any] = {"response_tokens": len(self.mask), "completion_tokens": int(self.mask.sum())}
        if not self.mask.all():
            found["action_mask"] = self.mask.astype(np.int64)
        if self.ids is not None:
            found |= {"token_ids": self.ids, "prompt_tokens": self.prompt_tokens}
        return {**found, **self.streams}

    def kl(self) -> float:
        """The sum of ms-swift's estimate of the divergence from the reference."""
        return float(((self.streams["old_logp"] - self.streams["ref_logp"]) * self.mask).sum())


def rows_of(batches: list[Any], samples: list[Any]) -> list[Row]:
    """The rows of all micro-batches, one for each sample.

    There are none if the batches do not hold these samples alone: with sequence parallelism they
    have those of other ranks.
    """
    if sum(len(batch.completion_mask) for batch in batches) != len(samples):
        return []
    rows, waiting = [], iter(samples)
    for batch in batches:
        masks = batch.completion_mask.cpu().numpy().astype(bool)
        streams = _streams(batch, masks.shape)
        rows += [_row(mask, i, streams, next(waiting)) for i, mask in enumerate(masks)]
    return rows


def _streams(batch: Any, shape: tuple[int, ...]) -> dict[str, Array]:
    """The values for each token, on the host."""
    given = {ours: getattr(batch, theirs, None) for ours, theirs in STREAMS.items()}
    if getattr(batch, "teacher_per_token_logps", None) is not None:  # else a sample has one advantage
        given["token_advantages"] = batch.advantages
    arrays = {name: values.float().cpu().numpy() for name, values in given.items() if values is not None}
    return {name: values for name, values in arrays.items() if values.shape == shape}


def _row(mask: Array, i: int, streams: dict[str, Array], sample: Any) -> Row:
    start, end = _edges(mask)
    ids, prompt_tokens = _ids(getattr(sample, "encoded", None), mask[start:end])
    return Row(start, end, mask[start:end], ids, prompt_tokens, {n: rows[i, start:end] for n, rows in streams.items()})


def _ids(encoded: Any, mask: Array) -> tuple[list[int] | None, int | None]:
    """The tokens of the response and the length of the prompt; None if these are not the row's."""
    ids, labels = (_list((encoded or {}).get(name)) for name in ("input_ids", "labels"))
    if ids is None or labels is None or len(ids) != len(labels):
        return None, None
    wrote = np.array(labels) != IGNORED
    start, end = _edges(wrote)
    if not np.array_equal(wrote[start:end], mask):
        return None, None
    return ids[start:end], start


def _list(values: Any) -> list[int] | None:
    return values.tolist() if hasattr(values, "tolist") else values if isinstance(values, list) else None


def _edges(mask: Array) -> tuple[int, int]:
    """Where the response begins and ends."""
    (wrote,) = mask.nonzero()
    return (int(wrote[0]), int(wrote[-1]) + 1) if len(wrote) else (0, 0)


def detached(tensor: Any) -> Any:
    """Rows that can be sliced. Those on a device stay there, to be copied without waiting."""
    tensor = tensor.detach()
    return tensor if tensor.is_cuda else tensor.float().numpy()


def cut(values: Any, rows: list[Row]) -> list[Any]:
    """The part of each row that is its response."""
    return [value[row.start : row.end] for value, row in zip(values, rows, strict=True)]
