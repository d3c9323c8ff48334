"""Everything that touches tensors of a device, without importing torch: a process that has no tensors never gets here.

On the caller's thread a tensor is copied on its device, on the caller's stream, and an event says when that is done; pinned memory is not asked for, since
making it waits for the device. Another thread brings the copy over, on a stream of its own, so that it waits for nobody's training either.
"""

from __future__ import annotations

import sys
from typing import Any

_streams: dict[Any, Any] = {}


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class Transfer:
    """Copies that are being made. `send` as often as needed, `depart` once, then ask `has_arrived` from any thread."""

    __slots__ = ("_devices", "_events")

    def __init__(self) -> None:
        self._devices: set[Any] = set()
        self._events: list[Any] = []

    def send(self, tensor: Any, is_ours: bool = False) -> Any:
        """A tensor that holds the values `tensor` has now, once everything sent has arrived. One that is ours already is not copied."""
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
    def anything(self) -> bool:
        return bool(self._devices)

    def has_arrived(self) -> bool:
        return all(event.query() for event in self._events)


def array(value: Any) -> Any:
    """A tensor as numpy, off the caller's thread; what numpy has no type for (bfloat16) as float32. Anything else as it is."""
    if not is_tensor(value):
        return value
    value = value.detach()
    if value.is_cuda:
        with sys.modules["torch"].cuda.stream(_stream(value.device)):
            value = value.cpu()
    name = str(value.dtype)
    return (value.float() if "bfloat16" in name or "float8" in name else value).cpu().numpy()


def _stream(device: Any) -> Any:
    found = _streams.get(device)
    if found is None:
        found = _streams[device] = sys.modules["torch"].cuda.Stream(device)
    return found
