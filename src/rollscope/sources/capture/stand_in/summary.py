"""The summary of a run: the last value of each name, or what `define_metric` asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from rollscope.sources.intake.gather import number
from rollscope.sources.live.values import scalar

from .config import Config

MERGE: dict[str, Callable[[Any, float, int], float]] = {  # kind -> (value so far, next value, how many so far)
    "min": lambda so_far, value, _: value if so_far is None else min(so_far, value),
    "max": lambda so_far, value, _: value if so_far is None else max(so_far, value),
    "mean": lambda so_far, value, count: value if so_far is None else so_far + (value - so_far) / (count + 1),
    "first": lambda so_far, value, _: value if so_far is None else so_far,
    "last": lambda _, value, __: value,
}


class Summary(Config):
    """A mapping that the program may write. What it writes itself is passed to `changed`."""

    def __init__(self, changed: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
        super().__init__(changed)
        object.__setattr__(self, "_kinds", {})
        object.__setattr__(self, "_counts", {})

    def update(self, d: Any = None, *_: Any, **more: Any) -> None:  # type: ignore[override]
        given = {**(d if isinstance(d, Mapping) else {}), **more}
        own = {str(key): scalar(value) for key, value in given.items()}
        self._items.update(own)
        self._changed(own)

    def __delitem__(self, key: str) -> None:
        del self._items[key]  # what was recorded stays

    def define(self, name: str, kinds: str | None, goal: str | None = None) -> None:
        """Say what the summary of a name, or of a prefix with `*`, holds: `"min,max"`."""
        words = {"best": "max" if str(goal).startswith("max") else "min"}
        wanted = [words.get(kind.strip(), kind.strip()) for kind in (kinds or "").split(",") if kind.strip()]
        if wanted:
            self._kinds[name] = [] if "copy" in wanted else wanted

    def take(self, row: Mapping[str, Any]) -> None:
        """Take the values of a log call over. None is no value."""
        for name, raw in row.items():
            value, kinds = scalar(raw), self._kinds_of(name)
            if not kinds and value is not None:
                self._items[name] = {**_mapping(self._items.get(name)), **raw} if isinstance(raw, Mapping) else value
            elif "none" in kinds:
                continue
            elif (as_float := number(value)) is not None and not math.isnan(as_float):
                self._merge(name, as_float, kinds)

    def _kinds_of(self, name: str) -> list[str]:
        fits = [glob for glob in self._kinds if glob == name or (glob.endswith("*") and name.startswith(glob[:-1]))]
        return self._kinds[max(fits, key=len)] if fits else []

    def _merge(self, name: str, value: float, kinds: list[str]) -> None:
        count = self._counts.get(name, 0)
        so_far = _mapping(self._items.get(name))
        self._items[name] = {kind: MERGE[kind](so_far.get(kind), value, count) for kind in kinds if kind in MERGE}
        self._counts[name] = count + 1


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
