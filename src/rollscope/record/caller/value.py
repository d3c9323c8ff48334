"""What `log()` may be given, made safe to hand to another thread: numbers as they are, partials as they are, tensors as their value now.

A tensor on the CPU is read in the call (it may be changed in place a line later, and holding a loss holds its graph). Tensors on a device are
stacked there and brought over by another thread when that is done: the caller never waits for the device.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Partial

from .device import Transfer, array

EXACT = 2**53  # whole numbers up to here are themselves as a double
_NUMBERS = (
    float,
    int,
    bool,
    np.float64,
    np.float32,
    np.float16,
    np.int64,
    np.int32,
    np.int16,
    np.int8,
    np.uint64,
    np.uint32,
    np.uint16,
    np.uint8,
    np.bool_,
)
IMMUTABLE = frozenset(_NUMBERS)


@dataclass(slots=True)
class Snapshot:
    """Values that can be read now, values that are on their way from a device, and what was neither."""

    ready: dict[str, Any] = field(default_factory=dict)
    coming: list[Arriving] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)  # name, what it was
    tensors: bool = False


@dataclass(slots=True)
class Arriving:
    """Numbers of one device, stacked there while everybody goes on."""

    names: list[str]
    stacked: Any  # a tensor on the device
    transfer: Transfer

    def values(self) -> dict[str, Any]:
        return dict(zip(self.names, array(self.stacked).tolist(), strict=True))


def floats(values: list[Any], kinds: list[type]) -> list[float] | None:
    """The numbers of a call, where all are floats or tensors of one number on the CPU; None where anything else is among them.

    What training loops mostly log, so it is done without a call of ours for each value. `kinds` are the values' types.
    """
    plain = kinds.count(float)
    if plain == len(kinds):
        return values
    torch = sys.modules.get("torch")
    if torch is None or plain + kinds.count(torch.Tensor) != len(kinds):
        return None
    if torch.cuda.is_initialized() and not all(value.is_cpu for value in values if type(value) is not float):
        return None
    try:
        numbers = (
            [value if type(value) is float else value.item() for value in values]
            if plain
            else [*map(torch.Tensor.item, values)]
        )
        return numbers if type(sum(numbers, 0.0)) is float else None
    except Exception:  # one is not a number: `snapshot` says which
        return None


Waiting = dict[tuple[bool, int], list[tuple[str, Any]]]  # (is it a float, which device) -> tensors


def snapshot(metrics: Mapping[Any, Any]) -> Snapshot:
    """The values of a call to `log()`. Nested mappings become `a/b`; None is not a value and is left out."""
    found, on_device = Snapshot(), Waiting()
    torch = sys.modules.get("torch")
    _take(metrics, "", found, on_device, torch.Tensor if torch is not None else Snapshot)
    for tensors in on_device.values():
        found.coming.append(_send(tensors))
    return found


def _take(metrics: Mapping[Any, Any], prefix: str, found: Snapshot, on_device: Waiting, tensor: type[Any]) -> None:
    ready = found.ready
    for key, value in metrics.items():
        name = prefix + (key if type(key) is str else str(key))
        if type(value) in IMMUTABLE:
            ready[name] = value
        elif isinstance(value, tensor):
            _take_tensor(name, value, found, on_device)
        elif isinstance(value, Partial):
            ready[name] = value
        elif isinstance(value, Mapping):
            _take(value, name + "/", found, on_device, tensor)
        elif value is not None:
            _take_other(name, value, found)


def _take_tensor(name: str, value: Any, found: Snapshot, on_device: Waiting) -> None:
    found.tensors = True
    if value.dim() and value.numel() != 1:
        found.refused.append((name, f"a tensor shaped {list(value.shape)}"))
    elif value.is_cuda:
        on_device.setdefault((value.is_floating_point(), value.get_device()), []).append((name, value))
    else:
        _take_other(name, value, found)


def _take_other(name: str, value: Any, found: Snapshot) -> None:
    try:
        if hasattr(value, "item") and not isinstance(value, str):
            value = value.item()  # one number, or it raises
        found.ready[name] = (
            value
            if type(value) in IMMUTABLE
            else float(value)
            if not isinstance(value, (str, bytes))
            else _refuse(value)
        )
    except Exception as error:
        found.refused.append((name, f"{type(value).__name__} ({str(error)[:80]})"))


def _refuse(value: Any) -> float:
    raise TypeError(f"{str(value)[:40]!r} is not a number")


def _send(tensors: list[tuple[str, Any]]) -> Arriving:
    torch, transfer = sys.modules["torch"], Transfer()
    with torch.no_grad():  # or the copy would hold the graph
        stacked = torch.stack([t if not t.dim() else t.reshape(()) for _, t in tensors])
    transfer.send(stacked, is_ours=True)
    transfer.depart()
    return Arriving([name for name, _ in tensors], stacked, transfer)


def cell(value: Any) -> tuple[float, str, float, tuple[float, ...]]:
    """(value, kind, weight, state) of one number or partial, as the store keeps it."""
    if isinstance(value, Partial):
        number, state = float(value.value), tuple(map(float, value.state()))
        undefined = math.isnan(number) and all(
            map(math.isfinite, state)
        )  # the spread of one sample: no data, not a NaN that was logged
        return number, value.kind, 0.0 if undefined else float(value.weight), state
    if isinstance(value, (int, np.integer)) and not -EXACT <= value <= EXACT:
        whole = int(value)
        if -(2**63) <= whole < 2**63:
            return float(whole), "int", math.nan, (float(whole >> 32), float(whole & 0xFFFFFFFF))
        return _as_float(whole), "scalar", math.nan, ()
    return float(value), "scalar", math.nan, ()  # a plain number has no weight; 0 would say no data


def _as_float(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:  # more than a double can hold
        return float("inf") if whole > 0 else float("-inf")
