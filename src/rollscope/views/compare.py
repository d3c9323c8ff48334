"""Two or more runs side by side: which settings differ, where each metric ended, and from which step on they part.

Metrics are matched by our names, so runs of different frameworks meet where their numbers are the same quantity. Two series part at the
step from which the mean of their difference over a window stays further from 0 than the difference's own noise explains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dictionary import Meaning, by_our_names

Floats = NDArray[np.float64]
SHARE = 20  # a window is a twentieth of the common steps,
LEAST = 5  # and at least five
SIGMAS = 6.0  # of the window's mean; with a window, neighbours and a thousand metrics, three would cry wolf
PART = 0.05  # and no less than a twentieth of what the two series span


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that is not the same everywhere; `None` where a run does not have it."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Parting:
    """A metric of both runs: where it ended in each, and the first step of the stretch that never comes together again."""

    metric: str
    last: tuple[float, float]
    step: int | None  # None: they stay together, or nobody can tell
    distance: float  # mean difference after it, in units of what the two span; 0 where they stay together, NaN where too few steps are common
    steps: int  # common steps it was read from

    @property
    def says(self) -> str:
        if self.step is not None:
            return f"step {self.step:,}"
        return "together" if self.distance == 0 else "too few steps"


def differences(facts: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """What is not equal among nested mappings, under dotted keys."""
    flat = [dict(_flat(f)) for f in facts]
    keys = sorted({key for f in flat for key in f})
    rows = [Difference(key, tuple(f.get(key) for f in flat)) for key in keys]
    return [row for row in rows if any(value != row.values[0] for value in row.values[1:])]


def _flat(facts: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in facts.items():
        found += _flat(value, f"{above}{key}.") if isinstance(value, Mapping) and value else [(f"{above}{key}", value)]
    return found


def partings(one: Any, other: Any) -> list[Parting]:
    """Every metric of both runs, those that part first on top, then those that stay together, then those with too few common steps."""
    ours = [by_our_names(map(str, run.metrics()["name"]), run.facts.get("framework")) for run in (one, other)]
    found = [_parting(name, (one, other), [o[name] for o in ours]) for name in ours[0].keys() & ours[1].keys()]
    known = [p for p in found if p is not None]
    return sorted(known, key=lambda p: (p.step is None, math.isnan(p.distance), p.step or 0, -p.distance, p.metric))


def _parting(name: str, runs: Sequence[Any], meanings: Sequence[Meaning]) -> Parting | None:
    (steps_a, a), (steps_b, b) = (
        _defined(run.series(m.logged), m.scale) for run, m in zip(runs, meanings, strict=True)
    )
    if not len(a) or not len(b):
        return None
    common, at_a, at_b = np.intersect1d(steps_a, steps_b, return_indices=True)
    place, distance = parted(a[at_a], b[at_b])
    return Parting(
        name, (float(a[-1]), float(b[-1])), None if place is None else int(common[place]), distance, len(common)
    )


def _defined(columns: Mapping[str, Any], scale: float) -> tuple[NDArray[np.int64], Floats]:
    value = np.asarray(columns["value"], np.float64) / scale
    known = np.isfinite(value)
    return np.asarray(columns["step"], np.int64)[known], value[known]


def parted(a: Floats, b: Floats) -> tuple[int | None, float]:
    """The index from which two series are apart until the end, and how far; (None, 0) where they are not, (None, NaN) where too few steps would tell."""
    n = len(a)
    width = max(LEAST, n // SHARE)
    span = float(max(a.max(), b.max()) - min(a.min(), b.min())) if n else 0.0
    if n < 2 * width:
        return None, math.nan
    if span == 0:
        return None, 0.0
    gap = a - b
    means = np.convolve(gap, np.full(width, 1 / width), "valid")  # means[i] is over gap[i : i + width]
    limit = max(SIGMAS * _noise(gap) / np.sqrt(width), PART * span)
    apart = (np.abs(means) > limit) & (np.sign(means) == np.sign(means[-1]))
    together = np.flatnonzero(~apart)
    first = int(together[-1]) + 1 if len(together) else 0
    if first > len(means) - width:  # too short a stretch to be more than its last wiggle
        return None, 0.0
    start = first + int(np.argmax(np.abs(gap[first : first + width]) > limit)) if first else 0
    return start, float(abs(gap[start:].mean()) / span)


def _noise(gap: Floats) -> float:
    """Spread of a difference from step to step: a robust standard deviation that a slow drift does not enter."""
    steps = np.diff(gap)
    return float(1.4826 * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2))
