"""`run.reduce`: the one collective there is, asked for by name, on a group of its own so that it cannot meet training's."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from typing import Any

from rollscope.catalog.partials.partial import Counter, Partial, from_state
from rollscope.record.write.steps import across

_groups: dict[float, Any] = {}


def reduce(values: dict[str, Any], timeout: float, common: Mapping[str, float]) -> dict[str, Any]:
    """One mapping from every rank's: partials add, plain numbers average. Without torch.distributed, or alone, the values as they are.

    `common` is what the run had counted when all ranks began, by the last part of a counter's name: it is in every rank's total and counts once.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return across([values])
    gathered: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(
        gathered, {name: _packed(value) for name, value in values.items()}, group=_group(torch, timeout)
    )
    parts = [{name: _unpacked(value) for name, value in part.items()} for part in gathered]
    return across(parts) | _totals(parts, common)


def _totals(parts: list[dict[str, Any]], common: Mapping[str, float]) -> dict[str, Any]:
    found: dict[str, Counter] = {}
    for name in {name for part in parts for name, value in part.items() if isinstance(value, Counter)}:
        ranks = [part[name] for part in parts if isinstance(part.get(name), Counter)]
        began = common.get(name.rpartition("/")[2], 0.0)
        found[name] = Counter(began + sum(rank.base - began for rank in ranks), sum(rank.added for rank in ranks))
    return found


def _group(torch: Any, timeout: float) -> Any:
    if timeout not in _groups:
        _groups[timeout] = torch.distributed.new_group(backend="gloo", timeout=datetime.timedelta(seconds=timeout))
    return _groups[timeout]


def _packed(value: Any) -> Any:
    return (value.kind, value.state()) if isinstance(value, Partial) else float(value)


def _unpacked(value: Any) -> Any:
    return from_state(*value) if isinstance(value, tuple) else value
