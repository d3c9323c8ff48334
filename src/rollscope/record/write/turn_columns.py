"""Rows of `turns` that stay columns, and what their samples count of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from rollscope.record.caller.sample import Turns
from rollscope.store.log.lists import Lists

from .columns import Columns, Values
from .sample_rows import EXACT_OF_TURN

ABOUT = {"sample": "id", "step": "step", "time_ns": "time_ns"}  # a column of a turn -> that of its sample


def fit(turns: Any) -> bool:
    """Do their fields have the types that the log takes?"""
    return isinstance(turns, Turns) and all(
        name in EXACT_OF_TURN and {*map(type, values)} <= {EXACT_OF_TURN[name], NoneType}
        for name, values in turns.fields.items()
    )


def columns(turns: Turns, samples: Mapping[str, Values]) -> Columns:
    """The rows of `turns`; `samples` are the columns of their samples."""
    of = np.repeat(np.arange(len(turns)), turns.lengths).tolist()  # the sample of each turn
    told = {ours: [samples[theirs][i] for i in of] for ours, theirs in ABOUT.items()}
    first = np.cumsum(turns.lengths) - turns.lengths
    numbers = (np.arange(len(of)) - np.repeat(first, turns.lengths)).tolist()
    return Columns(len(of), {"turn": numbers, **turns.fields, **told})


def counts(turns: Turns, samples: Mapping[str, Values]) -> dict[str, Values]:
    """What each sample counts of its turns. What it says itself of its tools stands."""
    roles, tools, oks = (turns.fields.get(name) or [None] * _total(turns) for name in ("role", "tool", "ok"))
    written = zip(_counted(turns, [role == "assistant" for role in roles]), turns.lengths.tolist(), strict=True)
    calls = _counted(turns, [tool is not None for tool in tools])
    failures = _counted(turns, [tool is not None and ok is False for tool, ok in zip(tools, oks, strict=True)])
    found = {"tool_calls": [n or None for n in calls]}
    found["tool_failures"] = [bad if n else None for n, bad in zip(calls, failures, strict=True)]
    told = {name: _said(samples.get(name), values) for name, values in found.items()}
    pairs = zip(written, turns.counts, strict=True)
    return {**told, "turns": [(own or here) if here else count for (own, here), count in pairs]}


def _said(own: Values | None, values: list[int | None]) -> Values:
    return values if own is None else [b if a is None else a for a, b in zip(own, values, strict=True)]


def _counted(turns: Turns, which: list[bool]) -> list[int]:
    """How many of the turns of each sample."""
    found: list[int] = Lists(np.array(which, bool), turns.lengths).sums().astype(np.int64).tolist()
    return found


def _total(turns: Turns) -> int:
    return int(turns.lengths.sum())
