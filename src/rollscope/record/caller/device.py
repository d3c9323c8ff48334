"""Everything that touches tensors of a device, without importing torch.

A process without tensors never gets here. On the caller's thread a tensor is copied on its device,
on the caller's stream, and an event marks the end of the copy. Pinned memory is not used, because
allocating it waits for the device. Another thread fetches the copy on its own stream, so that it
never waits for training.
"""

from __future__ import annotations

import sys
from typing import Any

_streams: dict[Any, Any] = {}


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class Transfer:
    """Copies that are being made.

    Call `send` per tensor, `depart` once, then `has_arrived` on any thread.
    """

    __slots__ = ("_devices", "_events")

    def __init__(self) -> None:
        self._devices: set[Any] = set()
        self._events: list[Any] = []

    def send(self, tensor: Any, is_ours: bool = False) -> Any:
        """A tensor that will hold the current values of `tensor`.

        Skips the copy if the tensor is ours.
        """
        tensor = tensor.detach()
        if tensor.is_cuda:
            self._devices.add(tensor.device)
        return tensor if is_ours else tensor.clone()

    def depart(self) -> None:
        for device in self._devices:
            torch = sys.modules["torch"]
            event = torch.cuda.Event()
            event.record(torch.cuda.current_stream(device))
            self._events.append(event)

    @property
    def is_needed(self) -> bool:
        """Was a tensor of a device sent?"""
        return bool(self._devices)

    def has_arrived(self) -> bool:
        return all(event.query() for event in self._events)


def array(value: Any) -> Any:
    """A tensor as a numpy array, off the caller's thread; any other value as it is.

    Types that numpy lacks (bfloat16, float8) become float32.
    """
    if not is_tensor(value):
        return value
    value = value.detach()
    if value.is_cuda:
        with sys.modules["torch"].cuda.stream(_stream(value.device)):
            value = value.cpu()
    name = str(value.dtype)
    return (value.float() if "bfloat16" in name or "float8" in name else value).cpu().numpy()


def _stream(device: Any) -> Any:
    stream = _streams.get(device)
    if stream is None:
        stream = _streams[device] = sys.modules["torch"].cuda.Stream(device)
    return stream
