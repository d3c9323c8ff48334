"""A copy of a batch as it is at the call, on the device it is on, up to a bound."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rollscope.record.loss import ODD, Lose, one_line

from .device import is_tensor
from .frozen import read
from .label import text

DEEPEST = 8  # lists and mappings inside each other
MOST_PARTS = 1_000_000  # lists, mappings and arrays inside a batch
_AS_IT_IS = (float, int, str, bool, type(None))
MOST_BYTES = 1 << 30  # of a batch: a larger copy takes the trainer's memory, or half a second of its time


def snapshot(batch: Mapping[str, Any], refuse: Callable[[str, int], None], lose: Lose) -> dict[str, Any]:
    """The batch as it is now. Keeps no graph and waits for nothing.

    Logits on a device are too large to copy and quick to read: their entropy is computed here, on
    the caller's stream, and replaces them. Other parts that do not fit are left out, the largest
    first, and `refuse(key, bytes)` is called for each: a reference would be read after a change. A
    part that cannot be copied is left out as well.
    """
    batch = _without_logits(_measurable(read(batch, lose, "a batch"), lose))
    sizes = {key: size(value) for key, value in batch.items()}
    total = sum(sizes.values())
    for key in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if total <= MOST_BYTES:
            break
        refuse(key, sizes[key])
        total -= sizes.pop(key)
    return _copies({key: batch[key] for key in batch if key in sizes}, lose)


def _measurable(batch: Mapping[Any, Any], lose: Lose) -> dict[str, Any]:
    """The parts whose size can be told, with text for keys. A part that holds itself has none."""
    parts = {}
    for key, value in batch.items():
        name = key if type(key) is str else text(key, lose)
        try:
            size(value)
            parts[name] = value
        except ODD as error:
            lose("parts of batches", f"{name!r} could not be read: {one_line(error)}")
    return parts


def _copies(batch: Mapping[str, Any], lose: Lose) -> dict[str, Any]:
    copied = {}
    for key, value in batch.items():
        try:
            copied[key] = _copy(value, lose)
        except ODD as error:
            lose("parts of batches", f"{key!r} could not be copied: {one_line(error)}")
    return copied


def _without_logits(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The batch with `entropy` in place of `logits` that are too large to copy."""
    logits: Any = batch.get("logits")
    temperature = batch.get("temperature", 1.0)
    if not is_tensor(logits) or not isinstance(temperature, (int, float)):
        return batch
    if not logits.is_cuda or size(logits) <= MOST_BYTES or not logits.is_contiguous():
        return batch
    from rollscope.kernels.logits import logprob_entropy

    rows = logits.detach().view(-1, logits.shape[-1])
    entropy = logprob_entropy(rows, None, float(temperature))[1].view(logits.shape[:-1])
    return {"entropy": entropy, **{key: value for key, value in batch.items() if key != "logits"}}


def _copy(value: Any, lose: Lose) -> Any:
    if is_tensor(value):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: _copy(inner, lose) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [inner if type(inner) in _AS_IT_IS else _copy(inner, lose) for inner in value]
    if value is None or isinstance(value, (int, float, np.generic)) or hasattr(value, "__array__"):
        return value
    return text(value, lose)  # a label


def size(value: Any) -> int:
    """Bytes that a batch holds, on any device. Raises ValueError if it is nested too deeply."""
    return _size(value, 0, [MOST_PARTS])


def _size(value: Any, depth: int, left: list[int]) -> int:
    if isinstance(value, (Mapping, list, tuple)):
        if isinstance(value, (list, tuple)) and (not value or isinstance(value[0], (int, float, str))):
            return 32 * len(value)
        left[0] -= len(value)
        if depth > DEEPEST or left[0] < 0:
            raise ValueError(f"it holds itself, or more than {DEEPEST} levels or {MOST_PARTS:,} parts")
        inside = value.values() if isinstance(value, Mapping) else value
        return sum(_size(inner, depth + 1, left) for inner in inside)
    if is_tensor(value):
        return int(value.numel() * value.element_size())
    return value.nbytes if isinstance(value, np.ndarray) else 32


class Ready:
    """Knows when the copies of a batch on a device are complete.

    `compute` runs a job on a stream of its own, which waits for the copies. No thread waits for
    them.
    """

    _streams: ClassVar[dict[Any, Any]] = {}

    def __init__(self, batch: Mapping[str, Any]) -> None:
        self._tensors: list[Any] = []
        self._event = None
        _collect_cuda(batch, self._tensors)
        if self._tensors:
            self._event = sys.modules["torch"].cuda.Event()
            self._event.record(sys.modules["torch"].cuda.current_stream(self._tensors[0].device))

    @property
    def is_needed(self) -> bool:
        """Is there anything on a device to wait for?"""
        return self._event is not None

    def wait(self) -> None:
        """Wait for the copies, off the caller's thread: names are compared on the host."""
        if self._event is not None:
            self._event.synchronize()

    def forget(self) -> None:
        """Let go of the copies, once they are computed."""
        self._tensors, self._event = [], None

    def compute(self, job: Callable[[], Any]) -> Any:
        if self._event is None:
            return job()
        torch, device = sys.modules["torch"], self._tensors[0].device
        stream = self._streams.get(device)
        if stream is None:
            stream = self._streams[device] = torch.cuda.Stream(device)
        stream.wait_event(self._event)
        for tensor in self._tensors:
            tensor.record_stream(stream)  # keeps its memory while this stream reads it
        with torch.cuda.stream(stream):
            return job()


def _collect_cuda(value: Any, tensors: list[Any]) -> None:
    """Add every CUDA tensor inside a value to `tensors`."""
    if is_tensor(value):
        if value.is_cuda:
            tensors.append(value)
    elif isinstance(value, (Mapping, list, tuple)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            if not isinstance(inner, (int, float, str)):
                _collect_cuda(inner, tensors)
