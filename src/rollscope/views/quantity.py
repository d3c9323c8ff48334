"""The per-sample quantity behind a metric: which column it is a mean of, and over which samples.

Only means and shares over samples have one; asking for another is an error that says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.dialects import resolve
from rollscope.errors import BadInput

Floats = NDArray[np.float64]
Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Quantity:
    metric: str
    columns: tuple[str, ...]  # what must be read
    of: Callable[[Columns], Floats]  # one value per sample, NaN where it has none
    scope: str = ""  # generated, trained, discarded, or "" for all

    def where(self) -> str:
        """SQL over the samples table."""
        return {"trained": "trained", "discarded": "not trained"}.get(self.scope, "")


def quantity(metric: str, dialect: str | None = None) -> Quantity:
    """The quantity behind a metric's name, in any dialect."""
    found = resolve(metric, dialect)
    base, bindings = found.entry.name, dict(found.bindings or {})
    if found.stat not in ("", "mean"):
        raise BadInput(
            f"{metric!r} is a {found.stat} over samples; only a mean or a share can be taken apart into what each group adds. Ask for {found.name.rsplit('/', 1)[0]}/mean."
        )
    make = _MADE.get(base)
    if make is None:
        known = ", ".join(sorted(_MADE))
        raise BadInput(f"{metric!r} ({base}) is not a mean over samples, so it cannot be taken apart into what each group adds. These can: {known}.")
    columns, of = make(bindings)
    return Quantity(found.name, columns, of, found.scope)


def _column(name: str) -> Callable[[Mapping[str, str]], tuple[tuple[str, ...], Callable[[Columns], Floats]]]:
    return lambda bindings: ((name,), lambda c: floats(c[name]))


def _inside(column: str, placeholder: str) -> Callable[[Mapping[str, str]], tuple[tuple[str, ...], Callable[[Columns], Floats]]]:
    def make(bindings: Mapping[str, str]) -> tuple[tuple[str, ...], Callable[[Columns], Floats]]:
        key = bindings[placeholder]
        return (column,), lambda c: floats([_member(cell, key) for cell in c[column]])

    return make


def _truncated(bindings: Mapping[str, str]) -> tuple[tuple[str, ...], Callable[[Columns], Floats]]:
    return ("stop_reason",), lambda c: floats([None if s is None else float(s == "length") for s in c["stop_reason"]])


def _stop(bindings: Mapping[str, str]) -> tuple[tuple[str, ...], Callable[[Columns], Floats]]:
    reason = bindings["reason"]
    return ("stop_reason",), lambda c: floats([None if s is None else float(s == reason) for s in c["stop_reason"]])


def _total(bindings: Mapping[str, str]) -> tuple[tuple[str, ...], Callable[[Columns], Floats]]:
    return ("prompt_tokens", "completion_tokens"), lambda c: floats(c["prompt_tokens"]) + floats(c["completion_tokens"])


_MADE: dict[str, Callable[[Mapping[str, str]], tuple[tuple[str, ...], Callable[[Columns], Floats]]]] = {
    "reward": _column("reward"),
    "score": _column("score"),
    "advantage": _column("advantage"),
    "turns": _column("turns"),
    "tool/calls": _column("tool_calls"),
    "tool/failures": _column("tool_failures"),
    "staleness": _column("off_policy_steps"),
    "length/prompt": _column("prompt_tokens"),
    "length/completion": _column("completion_tokens"),
    "length/response": _column("response_tokens"),
    "length/total": _total,
    "length/truncated": _truncated,
    "stop/{reason}": _stop,
    "reward_component/{component}": _inside("rewards", "component"),
    "sample_metric/{metric}": _inside("sample_metrics", "metric"),
}


def floats(values: Any) -> Floats:
    """One float per sample; missing is NaN."""
    array = np.asarray(values)
    if array.dtype != object:
        return np.asarray(np.ma.filled(np.ma.asarray(array).astype(np.float64), np.nan), np.float64)
    return np.array([np.nan if v is None else float(v) for v in array], np.float64)


def _member(cell: Any, key: str) -> float | None:
    if cell is None:
        return None
    mapping = json.loads(cell) if isinstance(cell, str) else cell
    value = mapping.get(key)
    return None if value is None else float(value)
