"""Everything that touches torch, none of which imports it: values of a process that has no tensors never get here.

A tensor on a device is copied to pinned memory on the caller's stream, without waiting; an event says when it has arrived.
"""

from __future__ import annotations

import sys
from typing import Any


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class Transfer:
    """Copies on their way to the host. `send` as often as needed, `depart` once, then ask `has_arrived` from any thread."""

    __slots__ = ("_devices", "_events")

    def __init__(self) -> None:
        self._devices: set[Any] = set()
        self._events: list[Any] = []

    def send(self, tensor: Any) -> Any:
        """A host tensor that will hold the values `tensor` has now, once everything sent has arrived."""
        torch = sys.modules["torch"]
        tensor = tensor.detach()
        if tensor.device.type == "cpu":
            return tensor.clone()
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
        host.copy_(tensor, non_blocking=tensor.is_cuda)
        if tensor.is_cuda:
            self._devices.add(tensor.device)
        return host

    def depart(self) -> None:
        torch = sys.modules.get("torch")
        for device in self._devices:
            event = torch.cuda.Event()  # type: ignore[union-attr]
            event.record(torch.cuda.current_stream(device))  # type: ignore[union-attr]
            self._events.append(event)

    @property
    def anything(self) -> bool:
        return bool(self._devices)

    def has_arrived(self) -> bool:
        return all(event.query() for event in self._events)


def array(value: Any) -> Any:
    """A tensor of the host as numpy; what numpy has no type for (bfloat16) as float32."""
    if not is_tensor(value):
        return value
    value = value.detach()
    return (value.float() if "float8" in str(value.dtype) or "bfloat16" in str(value.dtype) else value).cpu().numpy()
