"""Which change mattered: the effect of every setting that differs between runs of a project."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollscope.statistics.factors import Effect, effects
from rollscope.store.run import Run
from rollscope.strict_json import plain
from rollscope.views.configuration import factors

MOST_VALUES = 6  # a setting with more values is a free choice, not a factor


def ablation(runs: Sequence[Run], value: Callable[[Run], float]) -> list[Effect]:
    """The effect of each setting on a value of a run, the surest and largest first.

    Runs without the value are left out. A setting that no run shares with another is no factor.
    """
    return ablation_of([(run.config, number) for run in runs if not math.isnan(number := value(run))])


def ablation_of(scored: Sequence[tuple[Mapping[str, Any], float]]) -> list[Effect]:
    """The same from configurations and their values."""
    tables = [factors(config) for config, _ in scored]
    keys = sorted({key for table in tables for key in table})
    columns = {key: [_word(table.get(key)) for table in tables] for key in keys}
    varied = {key: words for key, words in columns.items() if 2 <= len(set(words)) <= MOST_VALUES}
    if len(scored) < 2 or not varied:
        return []
    found = effects([number for _, number in scored], varied)
    return sorted(found, key=lambda effect: (math.isnan(effect.effect), -abs(effect.effect) or 0.0))


def _word(value: object) -> str:
    """A setting as text that can be counted; a missing one is its own value."""
    return "not set" if value is None else value if isinstance(value, str) else json.dumps(plain(value))
