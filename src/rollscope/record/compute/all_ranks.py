"""`run.reduce`: the only collective.

It has its own process group, so that it cannot meet training's.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from typing import Any

from rollscope.catalog.partials.partial import Counter, Partial, from_state
from rollscope.record.write.steps import across

_groups: dict[float, Any] = {}


def reduce(values: dict[str, Any], timeout: float, common: Mapping[str, float]) -> dict[str, Any]:
    """Merge the values of all ranks: partials add, plain numbers average.

    Without torch.distributed there is one rank. `common` holds what the run had counted when all
    ranks began, by the last part of a counter's name: it is in every rank's total and counts once.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return across([values])
    gathered: list[Any] = [None] * torch.distributed.get_world_size()
    packed = {name: _packed(value) for name, value in values.items()}
    torch.distributed.all_gather_object(gathered, packed, group=_group(torch, timeout))
    ranks = [{name: _unpacked(value) for name, value in rank.items()} for rank in gathered]
    return across(ranks) | _totals(ranks, common)


def _totals(ranks: list[dict[str, Any]], common: Mapping[str, float]) -> dict[str, Any]:
    """The counters of all ranks, with their common start counted once."""
    totals: dict[str, Counter] = {}
    for name in {name for rank in ranks for name, value in rank.items() if isinstance(value, Counter)}:
        counters = [rank[name] for rank in ranks if isinstance(rank.get(name), Counter)]
        start = common.get(name.rpartition("/")[2], 0.0)
        base = start + sum(counter.base - start for counter in counters)
        totals[name] = Counter(base, sum(counter.added for counter in counters))
    return totals


def _group(torch: Any, timeout: float) -> Any:
    if timeout not in _groups:
        _groups[timeout] = torch.distributed.new_group(backend="gloo", timeout=datetime.timedelta(seconds=timeout))
    return _groups[timeout]


def _packed(value: Any) -> Any:
    return (value.kind, value.state()) if isinstance(value, Partial) else float(value)


def _unpacked(value: Any) -> Any:
    return from_state(*value) if isinstance(value, tuple) else value
