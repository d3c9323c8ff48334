"""The values of a call to `log`, made safe for another thread.

Numbers and partials stay as they are. A tensor on the CPU is read in the call: its owner may change
it in place a line later, and holding a loss would hold its graph. Tensors on a device are stacked
there, and another thread fetches the stack when it is ready: the caller never waits for the device.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Partial
from rollscope.record.loss import ODD, Lose, one_line

from .device import Transfer, array
from .label import kind_of, shown, text

DEEPEST = 32  # mappings inside each other
MOST_NESTED = 10_000
EXACT = 2**53  # a double holds every integer up to here
IMMUTABLE = frozenset(
    {
        *(float, int, bool, np.bool_),
        *(np.float64, np.float32, np.float16),
        *(np.int64, np.int32, np.int16, np.int8),
        *(np.uint64, np.uint32, np.uint16, np.uint8),
    }
)
OnDevice = dict[tuple[bool, int], list[tuple[str, Any]]]  # (is floating, device number) -> named tensors


@dataclass(slots=True)
class Snapshot:
    """The values of one call: those that are ready, those on a device, and those refused."""

    lose: Lose
    ready: dict[str, Any] = field(default_factory=dict)
    arriving: list[Arriving] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)  # name, description of the value
    tensors: bool = False  # one of the values was a tensor
    nested: int = 0  # mappings inside the mapping


@dataclass(slots=True)
class Arriving:
    """Numbers of one device, stacked there while training goes on."""

    names: list[str]
    stacked: Any  # a tensor on the device
    transfer: Transfer

    def values(self) -> dict[str, Any]:
        return dict(zip(self.names, array(self.stacked).tolist(), strict=True))


def floats(values: list[Any], types: list[type]) -> list[float] | None:
    """The values as floats, if all are floats or tensors of one number on the CPU; else None.

    Training loops mostly log these, so no function of ours is called for each value. `types` are
    the types of the values.
    """
    plain = types.count(float)
    if plain == len(types):
        return values
    torch = sys.modules.get("torch")
    if torch is None or plain + types.count(torch.Tensor) != len(types):
        return None
    if torch.cuda.is_initialized() and not all(value.is_cpu for value in values if type(value) is not float):
        return None
    try:
        if plain:
            numbers = [value if type(value) is float else value.item() for value in values]
        else:
            numbers = [*map(torch.Tensor.item, values)]
        return numbers if type(sum(numbers, 0.0)) is float else None
    except ODD:  # one is not a number: `snapshot` reports which
        return None


def snapshot(metrics: Mapping[Any, Any], lose: Lose) -> Snapshot:
    """The values of a call to `log`. Nested mappings become `a/b`; None is left out."""
    taken, on_device = Snapshot(lose), OnDevice()
    torch = sys.modules.get("torch")
    _take(metrics, "", taken, on_device, torch.Tensor if torch is not None else Snapshot)
    for tensors in on_device.values():
        taken.arriving.append(_send(tensors))
    return taken


def _take(metrics: Mapping[Any, Any], prefix: str, taken: Snapshot, on_device: OnDevice, tensor: type[Any]) -> None:
    ready = taken.ready
    for key, value in metrics.items():
        name = prefix + (key if type(key) is str else text(key, taken.lose))
        try:
            if type(value) in IMMUTABLE:
                ready[name] = value
            elif isinstance(value, tensor):
                _take_tensor(name, value, taken, on_device)
            elif isinstance(value, Partial):
                ready[name] = value
            elif isinstance(value, Mapping):
                _take_nested(name + "/", value, taken, on_device, tensor)
            elif value is not None:
                _take_other(name, value, taken)
        except ODD as error:
            taken.refused.append((name, f"{kind_of(value)} ({one_line(error)})"))


def _take_nested(
    prefix: str, value: Mapping[Any, Any], taken: Snapshot, on_device: OnDevice, tensor: type[Any]
) -> None:
    taken.nested += 1
    if prefix.count("/") > DEEPEST or taken.nested > MOST_NESTED:
        raise ValueError(f"it holds itself, or more than {DEEPEST} levels or {MOST_NESTED:,} mappings")
    _take(value, prefix, taken, on_device, tensor)


def _take_tensor(name: str, value: Any, taken: Snapshot, on_device: OnDevice) -> None:
    taken.tensors = True
    if value.dim() and value.numel() != 1:
        taken.refused.append((name, f"a tensor shaped {list(value.shape)}"))
    elif value.is_cuda:
        on_device.setdefault((value.is_floating_point(), value.get_device()), []).append((name, value))
    else:
        _take_other(name, value, taken)


def _take_other(name: str, value: Any, taken: Snapshot) -> None:
    """Take anything else as one number. Raises if it is none."""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()  # raises unless it is one number
    taken.ready[name] = value if type(value) in IMMUTABLE else _as_number(value)


def _as_number(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{shown(value)} is not a number")
    return float(value)


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
        # The spread of one sample is NaN from finite numbers: no data, not a NaN that was logged.
        undefined = math.isnan(number) and all(map(math.isfinite, state))
        return number, str(value.kind), 0.0 if undefined else float(value.weight), state
    if isinstance(value, (int, np.integer)) and not -EXACT <= value <= EXACT:
        integer = int(value)
        if -(2**63) <= integer < 2**63:
            return float(integer), "int", math.nan, (float(integer >> 32), float(integer & 0xFFFFFFFF))
        return _as_float(integer), "scalar", math.nan, ()
    return float(value), "scalar", math.nan, ()  # a plain number has no weight; 0 would mean no data


def _as_float(integer: int) -> float:
    try:
        return float(integer)
    except OverflowError:  # beyond a double
        return float("inf") if integer > 0 else float("-inf")
