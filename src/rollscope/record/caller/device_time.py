"""Begin and end of work on a CUDA device: two events on the caller's stream, read elsewhere.

The caller's thread only records the events. Events are reused, stream objects are kept (making one
takes longer than recording on it), and torch's own functions are looked up once. Nothing here
raises into training: without a device in use, or if the device refuses, the host's clock is used
instead.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from time import perf_counter_ns
from typing import Any

SPARE = 4096  # pairs of events kept for reuse, for each device
ANCHOR_NS = 10**9  # differences of events are single precision, exact only over short times
Pairs = deque[Any]  # of events: begin and end


class _Cuda:
    """torch's own functions, and the streams and events made with them."""

    __slots__ = ("anchors", "device", "event", "record", "spare", "stream", "streams", "torch")

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.device = torch._C._cuda_getDevice
        self.stream = torch._C._cuda_getCurrentStream
        self.event = torch.cuda.Event
        self.record = torch.cuda.Event.__base__.record  # skips the lookup of the default stream
        self.streams: dict[Any, tuple[Any, Pairs, int]] = {}  # torch's stream numbers -> what `here` returns
        self.spare: dict[int, Pairs] = {}  # an event belongs to the device it was first recorded on
        self.anchors: dict[int, tuple[Any, int]] = {}  # device -> an event there, and when it happened

    def here(self) -> tuple[Any, Pairs, int]:
        """The caller's stream, the spare events of its device, and the device."""
        numbers = self.stream(self.device())
        known = self.streams.get(numbers)
        if known is None:
            device = int(numbers[1])
            spare = self.spare.setdefault(device, deque(maxlen=SPARE))
            known = self.streams[numbers] = (self.torch.cuda.current_stream(), spare, device)
        return known

    def anchor(self, device: int) -> tuple[Any, int]:
        """An event on a stream of its own, about a second old at most, and when it happened."""
        known = self.anchors.get(device)
        if known is None or perf_counter_ns() - known[1] > ANCHOR_NS:
            with self.torch.cuda.stream(self.torch.cuda.Stream(device)):
                event = self.event(enable_timing=True)
                event.record()
                event.synchronize()  # waits for an empty stream, on the drain's thread
            known = self.anchors[device] = (event, perf_counter_ns())
        return known


_cuda: _Cuda | None = None


def _forget() -> None:
    global _cuda
    _cuda = None


os.register_at_fork(after_in_child=_forget)  # a forked child has no device


def device_times() -> DeviceTimes | None:
    """Mark the begin of work on the device. None if no device is in use."""
    global _cuda
    try:
        if _cuda is None:
            torch = sys.modules.get("torch")
            if torch is None or not torch.cuda.is_initialized():
                return None
            _cuda = _Cuda(torch)
        return DeviceTimes(_cuda)
    except Exception:  # torch has other internals, or the device is lost
        return None


class DeviceTimes:
    """The begin and end of one stretch of work."""

    __slots__ = ("_cuda", "_device", "_pair", "_spare", "_stream")

    def __init__(self, cuda: _Cuda) -> None:
        self._cuda = cuda
        self._stream, self._spare, self._device = cuda.here()
        try:
            self._pair = self._spare.pop()
        except IndexError:
            self._pair = (cuda.event(enable_timing=True), cuda.event(enable_timing=True))
        cuda.record(self._pair[0], self._stream)

    def finish(self) -> bool:
        """Mark the end. False if that failed: then the host's clock must be used."""
        cuda = self._cuda
        try:
            stream, _, device = cuda.here()
            cuda.record(self._pair[1], stream if device == self._device else self._stream)
            return True
        except Exception:
            return False

    def has_ended(self) -> bool:
        return bool(self._pair[1].query())

    def times(self, offset_ns: int) -> tuple[int, int]:
        """Wall-clock begin and end, measured against an event whose time is known."""
        anchor, at = self._cuda.anchor(self._device)
        start, end = (at + offset_ns - int(event.elapsed_time(anchor) * 1e6) for event in self._pair)
        self._spare.append(self._pair)
        return start, end
