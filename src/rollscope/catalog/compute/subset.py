"""`take`: the mapping of some samples of a batch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from rollscope.catalog.keys import KEYS, SAMPLE_LEVELS, TOKEN_LEVELS, Key
from rollscope.catalog.partials import ops

from .layout import on_host
from .shape import is_single

Array = np.ndarray[Any, Any]


def take(batch: Mapping[str, Any], index: Any) -> dict[str, Any]:
    """Return the mapping of some samples. `index` holds their positions, or a bool per sample."""
    index = np.asarray(index)
    index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
    offsets = _offsets(batch.get("lengths"))
    some = {
        name: _take(KEYS[name], value, index, offsets) if name in KEYS and value is not None else value
        for name, value in batch.items()
    }
    return some if batch.get("partition") is None else some | {"partition": _dealt(batch["partition"], index)}


def _dealt(partition: Any, index: Array) -> list[list[int]]:
    """The ranks' samples that are still there, by their new numbers."""
    new = {old: number for number, old in enumerate(index.tolist())}
    return [[new[old] for old in np.asarray(on_host(part)).ravel().tolist() if old in new] for part in partition]


def _offsets(lengths: Any) -> Array | None:
    """The positions in a packed array where samples start, and its end."""
    if lengths is None:
        return None
    lengths = lengths.cpu() if ops.is_torch(lengths) else on_host(lengths)
    return np.concatenate(([0], np.cumsum(np.asarray(lengths))))


def _take(key: Key, value: Any, index: Array, offsets: Array | None) -> Any:
    if key.level == "table":
        return _take_columns(value, index)
    if key.level in SAMPLE_LEVELS:
        return value if is_single(value) else _rows(value, index)
    if key.level not in TOKEN_LEVELS:
        return value
    if offsets is not None and _is_packed(key, value, offsets):
        positions = [np.arange(offsets[i], offsets[i + 1]) for i in index]
        index = np.concatenate(positions).astype(np.int64) if positions else np.empty(0, np.int64)
    return _rows(value, index)


def _take_columns(table: Mapping[str, Any], index: Array) -> dict[str, Any]:
    return {
        name: _take_columns(column, index) if isinstance(column, Mapping) else _rows(column, index)
        for name, column in table.items()
    }


def _is_packed(key: Key, value: Any, offsets: Array) -> bool:
    if not hasattr(value, "ndim") or value.ndim != (2 if key.level == "logits" else 1):
        return False
    one_per_sample = key.per_sample and len(value) == len(offsets) - 1
    return len(value) == int(offsets[-1]) and not one_per_sample


def _rows(value: Any, index: Array) -> Any:
    if isinstance(value, np.ndarray):
        return value[index]
    if ops.is_torch(value) and not value.is_nested:
        return value[sys.modules["torch"].as_tensor(index, device=value.device)]
    rows = value.unbind() if ops.is_torch(value) else value
    return [rows[i] for i in index]
