"""Begin and end of work on a CUDA device, by two events on the caller's stream that another thread reads later.

What is left of it on the caller's thread is recording the events: they are used again, the objects of streams are kept (making one takes longer than recording on
it), and torch's own functions are looked up once. Nothing here raises into training: without a device in use, or where it refuses, the host's clock will do.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from time import perf_counter_ns
from typing import Any

SPARE = 4096  # pairs of events that wait to be used again, for each device
ANCHOR_NS = 10**9  # differences of events are single precision, exact only over short times


class _Cuda:
    """torch's own functions, and what was made with them."""

    __slots__ = ("anchors", "device", "event", "record", "spare", "stream", "streams", "torch")

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.device = torch._C._cuda_getDevice
        self.stream = torch._C._cuda_getCurrentStream
        self.event = torch.cuda.Event
        self.record = torch.cuda.Event.__base__.record  # without the look-up of the stream that is the default
        self.streams: dict[
            Any, tuple[Any, deque[Any], int]
        ] = {}  # torch's numbers of a stream -> the stream, the pairs of its device, the device
        self.spare: dict[int, deque[Any]] = {}  # an event belongs to the device it was first recorded on
        self.anchors: dict[int, tuple[Any, int]] = {}  # device -> an event there, and when it happened

    def here(self) -> tuple[Any, deque[Any], int]:
        """The caller's stream."""
        numbers = self.stream(self.device())
        known = self.streams.get(numbers)
        if known is None:
            device = int(numbers[1])
            known = self.streams[numbers] = (
                self.torch.cuda.current_stream(),
                self.spare.setdefault(device, deque(maxlen=SPARE)),
                device,
            )
        return known

    def anchor(self, device: int) -> tuple[Any, int]:
        """An event on a stream of its own, not much older than a second, and when it was."""
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
    """Work on the device begins now; None where no device is in use."""
    global _cuda
    try:
        if _cuda is None:
            torch = sys.modules.get("torch")
            if torch is None or not torch.cuda.is_initialized():
                return None
            _cuda = _Cuda(torch)
        return DeviceTimes(_cuda)
    except Exception:  # a torch whose insides are others, or a device that is lost
        return None


class DeviceTimes:
    __slots__ = ("_at", "_cuda", "_pair", "_spare", "_stream")

    def __init__(self, cuda: _Cuda) -> None:
        self._cuda = cuda
        self._stream, self._spare, self._at = cuda.here()
        try:
            self._pair = self._spare.pop()
        except IndexError:
            self._pair = (cuda.event(enable_timing=True), cuda.event(enable_timing=True))
        cuda.record(self._pair[0], self._stream)

    def finish(self) -> bool:
        """It ends now. False when that could not be recorded: the host's clock has to do."""
        cuda = self._cuda
        try:
            stream, _, device = cuda.here()
            cuda.record(self._pair[1], stream if device == self._at else self._stream)
            return True
        except Exception:
            return False

    def has_ended(self) -> bool:
        return bool(self._pair[1].query())

    def times(self, offset_ns: int) -> tuple[int, int]:
        """Wall-clock begin and end, against an event whose time is known."""
        anchor, at = self._cuda.anchor(self._at)
        start, end = (at + offset_ns - int(event.elapsed_time(anchor) * 1e6) for event in self._pair)
        self._spare.append(self._pair)
        return start, end
