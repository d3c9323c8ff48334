"""Ranges of rewards and sample metrics, by which the page colours samples: declared or observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rollouts import Rollouts

Floats = NDArray[np.float64]
Declared = Mapping[str, Any]


def ranges(declared: Declared, table: Rollouts) -> dict[str, list[float]]:
    """The range of `reward` over all environments, of `reward <env>` for each, and of each part."""
    observed = _observed(table.rewards)
    of_env = {env: _declared_reward(declared, env) or observed for env in table.words["env"]}
    return {
        "reward": _widest(of_env.values() or [observed]),
        **{f"reward {env}": pair for env, pair in of_env.items()},
        **{name: _part_range(declared, name, values) for name, values in table.parts.items()},
    }


def reward_range(declared: Declared, rewards: Floats) -> list[float]:
    """The widest declared reward range of any environment, else the observed one."""
    envs = declared.get("environments") or {"": {}}
    pairs = [pair for env in envs if (pair := _declared_reward(declared, env))]
    return _widest(pairs) if pairs else _observed(rewards)


def _declared_reward(declared: Declared, env: str) -> list[float] | None:
    merged = {**declared, **(declared.get("environments") or {}).get(env, {})}
    low, high = merged.get("reward_min"), merged.get("reward_max")
    return [float(low), float(high)] if low is not None and high is not None and high > low else None


def _part_range(declared: Declared, part: str, values: Floats) -> list[float]:
    """The range of `rewards/<component>` or `sample_metrics/<name>`."""
    name = part.split("/", 1)[-1]
    scopes = [declared, *(declared.get("environments") or {}).values()]
    pairs = [(scope.get("metrics_ranges") or {}).get(name) for scope in scopes]
    known = [[float(pair[0]), float(pair[1])] for pair in pairs if pair]
    return _widest(known) if known else _observed(values)


def _widest(pairs: Iterable[list[float]]) -> list[float]:
    lows, highs = zip(*pairs, strict=True)
    return [min(lows), max(highs)]


def _observed(values: Floats) -> list[float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return [low, high] if high > low else [min(low, 0.0), max(high, low + 1.0)]
