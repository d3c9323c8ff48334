"""`run.reduce`: the one collective there is, asked for by name, on a group of its own so that it cannot meet training's."""

from __future__ import annotations

import datetime
import sys
from typing import Any

from rollscope.catalog.partial import Partial, from_state
from rollscope.record.merge import across

_groups: dict[float, Any] = {}


def reduce(values: dict[str, Any], timeout: float) -> dict[str, Any]:
    """One mapping from every rank's: partials add, plain numbers average. Without torch.distributed, or alone, the values as they are."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return across([values])
    gathered: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(gathered, {name: _packed(value) for name, value in values.items()}, group=_group(torch, timeout))
    return across([{name: _unpacked(value) for name, value in part.items()} for part in gathered])


def _group(torch: Any, timeout: float) -> Any:
    if timeout not in _groups:
        _groups[timeout] = torch.distributed.new_group(backend="gloo", timeout=datetime.timedelta(seconds=timeout))
    return _groups[timeout]


def _packed(value: Any) -> Any:
    return (value.kind, value.state()) if isinstance(value, Partial) else float(value)


def _unpacked(value: Any) -> Any:
    return from_state(*value) if isinstance(value, tuple) else value
