"""Tensors in files of torch, rebuilt with numpy from their bytes: torch is not needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

REPEATED = 1 << 20  # values of a tensor that repeats those of its storage, as `expand` makes one
DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "BoolStorage": "?",
    "ByteStorage": "u1",
    "CharStorage": "i1",
    "ShortStorage": "<i2",
    "BFloat16Storage": "<u2",
}


class Refused(ValueError):
    """The file refers to something that its content does not need."""


class Storage:
    """The values that tensors are views of."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values


def tensor(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    """The values of a tensor, as a numpy array of its size."""
    values = storage.values if isinstance(storage, Storage) else np.empty(0)
    count = math.prod(size)
    if not size:
        return values[offset]
    if count > max(len(values), REPEATED):
        raise Refused(f"a tensor of {count:,} values in a storage of {len(values):,}")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if count else offset
    if offset < 0 or last >= max(len(values), 1) or any(s < 0 for s in stride):
        raise Refused("a tensor reaches beyond its storage")
    axes = enumerate(zip(size, stride, strict=True))
    index = sum((np.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(size))]) for d, (n, s) in axes)
    return values[offset + np.asarray(index)] if count else np.empty(size)


def values(kind: str, raw: bytes) -> np.ndarray[Any, Any]:
    """The values in the bytes of a storage of this kind."""
    found = np.frombuffer(raw, np.dtype(DTYPES.get(kind, "u1")))
    return (found.astype(np.uint32) << 16).view(np.float32) if kind == "BFloat16Storage" else found
