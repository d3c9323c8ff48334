"""Why a mean moved: which groups, and which kinds of samples, carry its change between two steps.

A group of n_g samples with mean m_g adds n_g/N (m_g - M) to the change, where N counts the samples
of this step and M is the mean of the other step: the parts add up to the change exactly. The same
change is then split by kind (environment, stop reason, length, tag). Each kind has two parts: "more
of them" (its share grew) and "each of them" (its own mean moved). A share is a mean of zeros and
ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, Any]
POPULATIONS = {  # scope -> the samples that a number covers
    "": "all samples",
    "generated": "samples whose fate is settled",
    "trained": "samples that were trained on",
    "discarded": "samples that were dropped",
}
DIMENSIONS = ("environment", "stop reason", "length", "tag")
LENGTHS = (0, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)  # edges of the length kinds, tokens


@dataclass(frozen=True, slots=True)
class Part:
    """What one group adds to the change."""

    group: str
    task: str
    adds: float
    count: int
    mean: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of sample adds: `more` by the change of its share, `each` by that of its mean."""

    name: str
    more: float
    each: float
    share: float
    share_before: float
    mean: float
    mean_before: float


@dataclass(frozen=True, slots=True)
class Why:
    metric: str
    step: int
    against: int
    now: float
    before: float
    parts: tuple[Part, ...]  # largest first
    kinds: Mapping[str, tuple[Kind, ...]]  # dimension -> kinds, largest first
    counted: tuple[int, int]  # samples with a value, now and before
    left_out: tuple[int, int]  # samples without one (NaN or missing)
    scope: str = ""  # a key of POPULATIONS
    recorded: tuple[float, float] = (math.nan, math.nan)  # logged values, now and before; NaN: none
    since: int | None = None  # the first step of the range that ends at `step`
    against_since: int | None = None  # the first step of the range that ends at `against`

    @property
    def change(self) -> float:
        return self.now - self.before

    @property
    def agrees(self) -> bool | None:
        """Do these samples give the logged numbers? None: nothing was logged."""
        pairs = zip((self.now, self.before), self.recorded, strict=True)
        known = [(mean, logged) for mean, logged in pairs if not math.isnan(logged)]
        return all(close(mean, logged) for mean, logged in known) if known else None

    def json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "step": self.step,
            "against": self.against,
            "since": self.step if self.since is None else self.since,
            "against_since": self.against if self.against_since is None else self.against_since,
            "now": _number(self.now),
            "before": _number(self.before),
            "change": _number(self.change),
            "parts": [_values(part) for part in self.parts],
            "kinds": {dimension: [_finite(kind) for kind in kinds] for dimension, kinds in self.kinds.items()},
            "counted": list(self.counted),
            "left_out": list(self.left_out),
            "population": POPULATIONS[self.scope],
            "recorded": [_number(value) for value in self.recorded],
            "agrees": self.agrees,
        }


def _values(row: Part | Kind) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def _finite(kind: Kind) -> dict[str, Any]:
    return {name: value if name == "name" else _number(value) for name, value in _values(kind).items()}


def close(a: float, b: float) -> bool:
    """Are two numbers the same, as far as a sum in single precision can tell?"""
    return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None


def why(
    metric: str, step: int, against: int, now: Columns, before: Columns, value: Floats, value_before: Floats
) -> Why:
    """Split a change into parts and kinds.

    `now` and `before` are columns of samples (group, task, env, stop_reason, completion_tokens,
    tags); `value` and `value_before` are the quantity of each, NaN if a sample has none.
    """
    keep, keep_before = np.isfinite(value), np.isfinite(value_before)
    x, y = value[keep], value_before[keep_before]
    mean_before = float(y.mean()) if y.size else math.nan
    group, task = (_words(now, name, len(value))[keep] for name in ("group", "task"))
    kinds: dict[str, tuple[Kind, ...]] = {}
    for name in DIMENSIONS if x.size and y.size else ():
        labels = _labels(name, now, len(value))[keep]
        labels_before = _labels(name, before, len(value_before))[keep_before]
        if len(split := _kinds(labels, x, labels_before, y)) > 1:
            kinds[name] = split
    return Why(
        metric=metric,
        step=step,
        against=against,
        now=float(x.mean()) if x.size else math.nan,
        before=mean_before,
        parts=_parts(group, task, x, mean_before),
        kinds=kinds,
        counted=(int(x.size), int(y.size)),
        left_out=(int((~keep).sum()), int((~keep_before).sum())),
    )


def _parts(group: NDArray[Any], task: NDArray[Any], x: Floats, before: float) -> tuple[Part, ...]:
    if not x.size or math.isnan(before):
        return ()
    names, first, inverse, count = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    total = np.bincount(inverse, x, len(names))
    # Sum the deviations, not n_g/N * (total/n_g - M): summed over groups they lose no digits.
    adds = np.bincount(inverse, x - before, len(names)) / x.size
    parts = [
        Part(str(name), str(task[row]), float(added), int(n), float(sum_ / n))
        for name, row, added, n, sum_ in zip(names, first, adds, count, total, strict=True)
    ]
    return tuple(sorted(parts, key=lambda part: -abs(part.adds)))


def _kinds(label: NDArray[Any], x: Floats, label_before: NDArray[Any], y: Floats) -> tuple[Kind, ...]:
    """Split the change symmetrically.

    The change of a share is weighed with the mean of the kind's two means, the change of a mean
    with the mean of its two shares.
    """
    # Shares add up to 1, so a constant taken off every mean changes no sum.
    centre = (float(x.mean()) + float(y.mean())) / 2
    kinds = []
    for name in sorted(set(label) | set(label_before)):
        a, b = x[label == name], y[label_before == name]
        share, share_before = a.size / x.size, b.size / y.size
        mean, mean_before = (float(a.mean()) if a.size else math.nan), (float(b.mean()) if b.size else math.nan)
        m, m_before = (mean if a.size else mean_before), (mean_before if b.size else mean)  # on one side only: "more"
        more = (share - share_before) * ((m + m_before) / 2 - centre)
        each = (share + share_before) / 2 * (m - m_before)
        kinds.append(Kind(str(name), more, each, share, share_before, mean, mean_before))
    return tuple(sorted(kinds, key=lambda kind: -abs(kind.more + kind.each)))


def _words(columns: Columns, name: str, count: int) -> NDArray[Any]:
    values = columns.get(name)
    if values is None or len(values) != count:
        return np.full(count, "", object)
    return np.array(["" if value is None else str(value) for value in values], object)


def _labels(dimension: str, columns: Columns, count: int) -> NDArray[Any]:
    if dimension == "environment":
        return _words(columns, "env", count)
    if dimension == "stop reason":
        return _words(columns, "stop_reason", count)
    if dimension == "length":
        return _lengths(columns.get("completion_tokens"), count)
    return np.array([_tag(text) for text in _words(columns, "tags", count)], object)


def _lengths(tokens: Sequence[Any] | None, count: int) -> NDArray[Any]:
    if tokens is None or len(tokens) != count:
        return np.full(count, "", object)
    between = [f"{low:,} to {high:,}" for low, high in pairwise(LENGTHS[1:])]
    names = np.array([f"under {LENGTHS[1]}", *between, f"over {LENGTHS[-1]:,}"], object)
    length = np.array([np.nan if value is None else float(value) for value in tokens])
    bins = np.searchsorted(LENGTHS, np.nan_to_num(length), side="right") - 1
    labels: NDArray[Any] = names[np.clip(bins, 0, len(names) - 1)]
    labels[np.isnan(length)] = ""
    return labels


def _tag(text: str) -> str:
    """One label of the tags column: a list's words, or a mapping's `name=word` pairs, in order."""
    try:
        tags = json.loads(text) if text else []
    except ValueError:
        return text
    if isinstance(tags, dict):
        return " ".join(f"{name}={word}" for name, word in sorted(tags.items()))
    return " ".join(map(str, tags)) if isinstance(tags, list) else str(tags)
