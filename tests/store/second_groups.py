"""The larger partials of a second reader, written from docs/format.md: histograms and groups."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import reduce
from statistics import fmean, median

import numpy as np

State = list[float]
NAN = math.nan
EXACT = 512
MEASURES = (
    *("size", "mean", "std", "std0", "min", "max", "spread", "zero_spread", "all_pass", "all_fail", "mixed"),
    *("gini", "cv", "max_median", "zero_spread_expected", "any_pass"),
)
ENDS = {"min", "max", "spread", "zero_spread", "all_pass", "all_fail", "mixed", "any_pass"}
MOMENTS = {"mean", "std", "std0", "cv", "zero_spread_expected"}
Group = tuple[float, float, float, State]  # size, declared low and high, what is kept


def over(a: float, b: float) -> float:
    return a / b if b else NAN


def largest(a: float, b: float) -> float:
    return NAN if math.isnan(a) or math.isnan(b) else max(a, b)


def smallest(a: float, b: float) -> float:
    return -largest(-a, -b)


def moments(a: State, b: State) -> State:
    """Count, mean, summed squared deviation."""
    if not a[0] or not b[0]:
        return a if a[0] else b
    n, d = a[0] + b[0], b[1] - a[1]
    if not math.isfinite(d):
        return [n, (a[0] * a[1] + b[0] * b[1]) / n, NAN]
    return [n, a[1] + d * b[0] / n, a[2] + b[2] + d * d * a[0] * b[0] / n]


def values_of(s: State) -> State | None:
    """The values of a histogram that still has them (an odd number of states), or has none yet."""
    if len(s) % 2 == 0:
        return None if len(s) > 2 else []
    if s[0] == 2:
        half = len(s) // 2
        return [v for v, n in zip(s[1 : 1 + half], s[1 + half :], strict=True) for _ in range(int(n))]
    return s[1:] if s[0] else s[2:]


def counts_of(s: State) -> tuple[float, float, dict[int, float]]:
    """Lowest, highest, and how many values are in each bucket."""
    values = values_of(s)
    if values is None:
        half = len(s) // 2 - 1
        return s[0], s[1], {int(b): n for b, n in zip(s[2 : 2 + half], s[2 + half :], strict=True)}
    found: dict[int, float] = {}
    for value in values:
        bucket = (int(np.float32(value).view(np.uint32)) + (1 << 17)) % (1 << 32) >> 18
        found[bucket] = found.get(bucket, 0.0) + 1
    return reduce(smallest, values, math.inf), reduce(largest, values, -math.inf), found


def weight_of(s: State) -> float:
    return sum(counts_of(s)[2].values())


def histogram(a: State, b: State) -> State:
    mine, other = values_of(a), values_of(b)
    if mine is not None and other is not None and len(mine) + len(other) <= EXACT:
        values = sorted(mine + other)
        return [1.0, *values] if len(values) % 2 == 0 else [0.0, 0.0, *values]
    (low_a, high_a, first), (low_b, high_b, second) = counts_of(a), counts_of(b)
    order = sorted(first | second)
    return [
        smallest(low_a, low_b),
        largest(high_a, high_b),
        *map(float, order),
        *(first.get(k, 0.0) + second.get(k, 0.0) for k in order),
    ]


def quantile(s: State, q: float) -> float:
    values = values_of(s)
    if values is not None:
        return between(values, q) if values and not any(map(math.isnan, values)) else NAN
    low, high, counts = counts_of(s)
    if math.isnan(low) or math.isnan(high):
        return NAN
    centres = sorted((struct.unpack("<f", struct.pack("<I", bucket << 18))[0], n) for bucket, n in counts.items())
    ranked = np.clip(np.repeat([c for c, _ in centres], [int(n) for _, n in centres]), low, high)
    ranked[0], ranked[-1] = low, high
    return between(ranked.tolist(), q)


def between(ascending: State, q: float) -> float:
    place = q * (len(ascending) - 1)
    below, above = ascending[math.floor(place)], ascending[math.ceil(place)]
    return below if below == above else below + (above - below) * (place - math.floor(place))


def groups_of(s: State) -> dict[float, Group]:
    measure, width, found = MEASURES[int(s[0])], 4 if s[3] else 2, {}
    at = 6 + width * int(s[2])
    for i in range(6, at, width):
        low, high = (s[i + 2], s[i + 3]) if s[3] else (s[4], s[5])
        kept = 0 if measure == "size" or not s[i + 1] else 2 if measure in ENDS | MOMENTS else int(s[i + 1])
        found[s[i]] = (s[i + 1], low, high, s[at : at + kept])
        at += kept
    return found


def pooled(measure: str, a: Group, b: Group) -> Group:
    low, high = (float(f(x, y)) for f, x, y in ((np.fmin, a[1], b[1]), (np.fmax, a[2], b[2])))
    if not a[3] or not b[3]:
        kept = a[3] or b[3]
    elif measure in MOMENTS:
        kept = moments([a[0], *a[3]], [b[0], *b[3]])[1:]
    else:
        kept = sorted(a[3] + b[3])
        kept = [kept[0], kept[-1]] if measure in ENDS else kept
    return a[0] + b[0], low, high, kept


def per_group(a: State, b: State) -> State:
    found, measure = groups_of(a), MEASURES[int(a[0])]
    for id, group in groups_of(b).items():
        found[id] = pooled(measure, found[id], group) if id in found else group
    flat = [x for id in sorted(found) for x in (id, *found[id][:3])]
    return [a[0], a[1], float(len(found)), 1.0, NAN, NAN, *flat, *(x for id in sorted(found) for x in found[id][3])]


def gini(x: State, low: float) -> float:
    shift = 0.0 if math.isnan(low) else low
    slack = 1e-6 * max(abs(shift), x[-1] - x[0])
    y = [0.0 if -slack <= v - shift < 0 else v - shift for v in x]
    if y[0] < 0:
        return NAN
    return 0.0 if x[0] == x[-1] else sum((2 * i - len(y) - 1) * v for i, v in enumerate(y, 1)) / (len(y) * sum(y))


def measured(measure: str, group: Group, observed: float) -> float:
    """The measure of one group; `observed` is the range of all values, if none is declared."""
    n, low, high, k = group
    same = 1e-6 * (high - low if high - low > 0 else observed)
    least, most = (k[0], k[-1]) if k else (NAN, NAN)
    if n < 2 and measure in (
        "std",
        "cv",
        "zero_spread",
        "mixed",
        "all_pass",
        "all_fail",
        "gini",
        "zero_spread_expected",
    ):
        return NAN
    rules: dict[str, Callable[[], float]] = {
        "size": lambda: n,
        "mean": lambda: k[0],
        "std": lambda: math.sqrt(k[1] / (n - 1)),
        "std0": lambda: math.sqrt(k[1] / n),
        "cv": lambda: over(math.sqrt(k[1] / (n - 1)), k[0]),
        "zero_spread_expected": lambda: min(max(k[0], 0.0), 1.0) ** n + (1 - min(max(k[0], 0.0), 1.0)) ** n,
        "min": lambda: least,
        "max": lambda: most,
        "spread": lambda: most - least,
        "zero_spread": lambda: float(most - least <= same),
        "mixed": lambda: float(most - least > same),
        "all_pass": lambda: NAN if math.isnan(high) else float(least >= high - same),
        "any_pass": lambda: NAN if math.isnan(high) else float(most >= high - same),
        "all_fail": lambda: NAN if math.isnan(low) else float(most <= low + same),
        "gini": lambda: gini(k, low),
        "max_median": lambda: 1.0 if most == least else over(most, median(k)),
    }
    return rules[measure]()


def each_group(s: State) -> State:
    groups = [group for group in groups_of(s).values() if group[0]]
    kept = [x for group in groups for x in group[3]]
    observed = max(kept) - min(kept) if kept else 0.0
    found = [measured(MEASURES[int(s[0])], group, observed) for group in groups]
    return [x for x in found if not math.isnan(x)]


def group_value(s: State) -> float:
    each = each_group(s)
    if s[1] == 5:
        return s[2] - len(each) if s[2] else NAN
    read: Sequence[Callable[[State], float]] = (
        fmean,
        min,
        max,
        lambda x: float(np.std(x, ddof=1)) if len(x) > 1 else NAN,
        sum,
        len,
        len,
    )
    return read[int(s[1])](each) if each else NAN
