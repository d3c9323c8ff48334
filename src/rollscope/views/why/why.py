"""Why a number moved: which groups, and which kinds of samples, carry a change between two steps.

For a mean (or a share) over samples, a group of n_g samples with mean m_g adds n_g/N (m_g - M) to the change, where N counts the samples of this
step and M is the mean of the step it is compared with: the parts add up to the change exactly. Then the same change by kind (environment,
stop reason, length, tag), each kind split into "more of them" (its share grew) and "each of them" (its own mean moved).
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
POPULATIONS = {  # which samples a number is over, by the scope in its name; a name without one is over whatever was at hand when it was logged
    "": "all samples",
    "generated": "samples whose fate is settled",
    "trained": "samples that were trained on",
    "discarded": "samples that were dropped",
}
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
    """What one kind of sample adds: `more` because there are more (or fewer) of them, `each` because each of them changed."""

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
    parts: tuple[Part, ...]  # by size, largest first
    kinds: Mapping[str, tuple[Kind, ...]]  # dimension -> kinds, largest first
    counted: tuple[int, int]  # samples with a value, now and before
    left_out: tuple[int, int]  # samples without one (NaN or missing)
    scope: str = ""  # of POPULATIONS: the samples that were taken apart
    recorded: tuple[float, float] = (
        math.nan,
        math.nan,
    )  # what was logged under this name, now and before; NaN where nothing was

    @property
    def change(self) -> float:
        return self.now - self.before

    @property
    def agrees(self) -> bool | None:
        """Do these samples give the numbers that were logged? None where none were."""
        known = [
            (mine, theirs)
            for mine, theirs in zip((self.now, self.before), self.recorded, strict=True)
            if not math.isnan(theirs)
        ]
        return all(close(mine, theirs) for mine, theirs in known) if known else None

    def json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "step": self.step,
            "against": self.against,
            "now": _number(self.now),
            "before": _number(self.before),
            "change": _number(self.change),
            "parts": [
                {"group": p.group, "task": p.task, "adds": p.adds, "count": p.count, "mean": p.mean} for p in self.parts
            ],
            "kinds": {
                d: [{f: _number(getattr(k, f)) if f != "name" else k.name for f in k.__slots__} for k in ks]
                for d, ks in self.kinds.items()
            },
            "counted": list(self.counted),
            "left_out": list(self.left_out),
            "population": POPULATIONS[self.scope],
            "recorded": [_number(value) for value in self.recorded],
            "agrees": self.agrees,
        }


def close(a: float, b: float) -> bool:
    """The same number, as far as one summed in single precision can be."""
    return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None


def why(
    metric: str,
    step: int,
    against: int,
    now: Mapping[str, Any],
    before: Mapping[str, Any],
    value: Floats,
    value_before: Floats,
) -> Why:
    """`now` and `before` are columns of samples (group, task, env, stop_reason, completion_tokens, tags); `value` the quantity, NaN where a sample has none."""
    keep, keep_before = np.isfinite(value), np.isfinite(value_before)
    x, y = value[keep], value_before[keep_before]
    mean_before = float(y.mean()) if y.size else math.nan
    dimensions = {
        name: (_labels(name, now, len(value))[keep], _labels(name, before, len(value_before))[keep_before])
        for name in ("environment", "stop reason", "length", "tag")
    }
    return Why(
        metric,
        step,
        against,
        float(x.mean()) if x.size else math.nan,
        mean_before,
        _parts(_words(now, "group", len(value))[keep], _words(now, "task", len(value))[keep], x, mean_before),
        {
            name: kinds
            for name, (a, b) in dimensions.items()
            if x.size and y.size and len(kinds := _kinds(a, x, b, y)) > 1
        },
        (int(x.size), int(y.size)),
        (int((~keep).sum()), int((~keep_before).sum())),
    )


def _parts(group: NDArray[Any], task: NDArray[Any], x: Floats, before: float) -> tuple[Part, ...]:
    if not x.size or math.isnan(before):
        return ()
    names, first, inverse, count = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    total = np.bincount(inverse, x, len(names))
    # The sum of deviations, not n_g/N * (total/n_g - M): summed over groups it telescopes without losing digits.
    adds = np.bincount(inverse, x - before, len(names)) / x.size
    parts = [
        Part(str(n), str(task[f]), float(a), int(c), float(t / c))
        for n, f, a, c, t in zip(names, first, adds, count, total, strict=True)
    ]
    return tuple(sorted(parts, key=lambda p: -abs(p.adds)))


def _kinds(label: NDArray[Any], x: Floats, label_before: NDArray[Any], y: Floats) -> tuple[Kind, ...]:
    """Symmetric split: the change of a share is weighed with the kind's mean level, the change of a mean with the kind's mean share."""
    centre = (
        float(x.mean()) + float(y.mean())
    ) / 2  # shares add up to 1, so a constant taken off every mean changes no sum
    found = []
    for name in sorted(set(label) | set(label_before)):
        a, b = x[label == name], y[label_before == name]
        share, share_before = a.size / x.size, b.size / y.size
        mean, mean_before = (float(a.mean()) if a.size else math.nan), (float(b.mean()) if b.size else math.nan)
        m, m_before = (
            (mean if a.size else mean_before),
            (mean_before if b.size else mean),
        )  # a kind on one side only is "more of them"
        more = (share - share_before) * ((m + m_before) / 2 - centre)
        each = (share + share_before) / 2 * (m - m_before)
        found.append(Kind(str(name), more, each, share, share_before, mean, mean_before))
    return tuple(sorted(found, key=lambda k: -abs(k.more + k.each)))


def _words(columns: Mapping[str, Any], name: str, count: int) -> NDArray[Any]:
    given = columns.get(name)
    return (
        np.array(["" if v is None else str(v) for v in given], object)
        if given is not None and len(given) == count
        else np.full(count, "", object)
    )


def _labels(dimension: str, columns: Mapping[str, Any], count: int) -> NDArray[Any]:
    if dimension == "environment":
        return _words(columns, "env", count)
    if dimension == "stop reason":
        return _words(columns, "stop_reason", count)
    if dimension == "length":
        return _lengths(columns.get("completion_tokens"), count)
    return np.array([_tag(t) for t in _words(columns, "tags", count)], object)


def _lengths(tokens: Sequence[Any] | None, count: int) -> NDArray[Any]:
    if tokens is None or len(tokens) != count:
        return np.full(count, "", object)
    names = np.array(
        [f"under {LENGTHS[1]}", *(f"{a:,} to {b:,}" for a, b in pairwise(LENGTHS[1:])), f"over {LENGTHS[-1]:,}"], object
    )
    length = np.array([np.nan if t is None else float(t) for t in tokens])
    labels: NDArray[Any] = names[
        np.clip(np.searchsorted(LENGTHS, np.nan_to_num(length), side="right") - 1, 0, len(names) - 1)
    ]
    labels[np.isnan(length)] = ""
    return labels


def _tag(text: str) -> str:
    """One label of the tags column: a list's words, or a mapping's `name=word` pairs, in order."""
    try:
        tags = json.loads(text) if text else []
    except ValueError:
        return text
    return (
        " ".join(f"{k}={v}" for k, v in sorted(tags.items()))
        if isinstance(tags, dict)
        else " ".join(map(str, tags))
        if isinstance(tags, list)
        else str(tags)
    )
