"""Partials of a second reader, written from the table in docs/format.md: add states, read numbers.

It shares no code with Rollscope and is not fast: a state is a list of floats, and every rule is
written as the page states it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np

from tests.store.second_groups import (
    NAN,
    State,
    each_group,
    group_value,
    histogram,
    largest,
    moments,
    over,
    per_group,
    quantile,
    smallest,
    weight_of,
)

Add = Callable[[State, State], State]
Read = Callable[[State], float]


def by_column(*how: Callable[[float, float], float]) -> Callable[[State, State], State]:
    return lambda a, b: [add(x, y) for add, x, y in zip(how, a, b, strict=True)]


def plus(a: float, b: float) -> float:
    return a + b


def sums(a: State, b: State) -> State:
    """State by state; the shorter one goes on with zeros."""
    size = max(len(a), len(b))
    return [x + y for x, y in zip(a + [0.0] * (size - len(a)), b + [0.0] * (size - len(b)), strict=True)]


def experts(a: State, b: State) -> State:
    return [a[0], *sums(a[1:], b[1:])] if len(a) > 1 and len(b) > 1 else a if len(a) > 1 else b


def comoments(a: State, b: State) -> State:
    if not a[0] or not b[0]:
        return a if a[0] else b
    n, dx, dy = a[0] + b[0], b[1] - a[1], b[2] - a[2]
    share = a[0] * b[0] / n
    return [
        n,
        a[1] + dx * b[0] / n,
        a[2] + dy * b[0] / n,
        a[3] + b[3] + dx * dx * share,
        a[4] + b[4] + dy * dy * share,
        a[5] + b[5] + dx * dy * share,
    ]


def last(a: State, b: State) -> State:
    return max(a, b, key=lambda s: (s[1], s[2], not math.isnan(s[0]), s[0]))


def at_max(a: State, b: State) -> State:
    return a if not b[2] else b if not a[2] else [*max(a[:2], b[:2]), a[2] + b[2]]


def by_key(width: int) -> Callable[[State, State], State]:
    """Rows of `width` keys and then numbers: those with the same keys are added."""

    def add(a: State, b: State) -> State:
        found: dict[tuple[float, ...], State] = {}
        for i in range(0, len(a + b), 3):
            key, rest = tuple((a + b)[i : i + width]), (a + b)[i + width : i + 3]
            found[key] = sums(found.get(key, []), rest)
        return [x for key in sorted(found) for x in (*key, *found[key])]

    return add


def interval(s: State, percent: float) -> float:
    means = np.array([s[i + 1] / s[i + 2] for i in range(0, len(s), 3)])
    random = np.random.RandomState(42)
    drawn = (
        [means[random.randint(0, len(means), len(means))].mean() for _ in range(1000)]
        if len(means) > 1 and np.isfinite(means).all()
        else [NAN]
    )
    return float(np.percentile(drawn, percent))


def missing(s: State) -> float:
    fullest = max(s[0::3])
    return sum(
        tasks * max((planned or fullest) - present, 0.0)
        for present, planned, tasks in zip(s[0::3], s[1::3], s[2::3], strict=True)
    )


def spread(ddof: int) -> Read:
    return lambda s: math.sqrt(s[2] / (s[0] - ddof)) if s[0] > ddof else NAN


def residual(s: State) -> float:
    return max(s[3] - 2 * s[5] + s[4], 0.0) / s[3] if s[0] > 1 and s[3] > 0 else NAN


def stabilised(s: State) -> float:
    rest = s[0] - 1
    return 1 - (max(s[3] - 2 * s[5] + s[4], 0.0) / rest) / (s[3] / rest + 1e-5) if rest > 0 else NAN


def pearson(s: State) -> float:
    return max(-1.0, min(1.0, s[5] / math.sqrt(s[3]) / math.sqrt(s[4]))) if s[0] > 1 and s[3] > 0 and s[4] > 0 else NAN


def off_balance(of_layer: Callable[[State], float], of_all: Callable[[State], float]) -> Read:
    def read(s: State) -> float:
        size = int(s[0])
        layers = [s[i : i + size] for i in range(1, len(s), size)] if size else []
        away = [[n / max(sum(layer), 1.0) * size - 1 for n in layer] for layer in layers]
        return of_all([of_layer(layer) for layer in away]) if sum(s[1:]) else NAN

    return read


def runs(a: State, b: State) -> State:
    totals: dict[tuple[float, float], list[float]] = {}
    for s in (a, b):
        for i in range(1, len(s), 4):
            total = totals.setdefault((s[i], s[i + 1]), [0.0, 0.0])
            total[0] += s[i + 2]
            total[1] += s[i + 3]
    return [a[0], *(x for key, total in sorted(totals.items()) for x in (*key, *total))]


def each_task(s: State) -> list[float]:
    tasks: dict[float, list[float]] = {}
    for i in range(1, len(s), 4):
        if s[i + 3]:
            tasks.setdefault(s[i], []).append(s[i + 2] / s[i + 3])
    return [mean(means) for means in tasks.values()]


def run_value(s: State) -> float:
    x = each_task(s)
    return (mean, min, max)[int(s[0])](x) if x else NAN


def mean(x: State) -> float:
    return sum(x) / len(x)


def uneven(x: State) -> float:
    return mean([abs(v) for v in x])


def nth(i: int) -> Read:
    return lambda s: s[i]


def some(i: int, read: Read) -> Read:
    """NaN where state i, a count, says that there was no data."""
    return lambda s: read(s) if s[i] else NAN


def any_of(read: Read) -> Read:
    return lambda s: read(s) if s else NAN


extremes, rates = by_column(smallest, largest, plus), by_column(plus, largest)
KINDS: dict[str, tuple[Add, Read, Read]] = {  # how two states add, the value, the weight
    "mean": (sums, lambda s: over(s[0], s[1]), nth(1)),
    "ratio": (sums, lambda s: over(s[0], s[1]), nth(1)),
    "sum": (sums, some(1, nth(0)), nth(1)),
    "counter": (by_column(max, plus), lambda s: s[0] + s[1], nth(1)),
    "moments": (moments, some(0, nth(1)), nth(0)),
    "std": (moments, spread(1), nth(0)),
    "std0": (moments, spread(0), nth(0)),
    "variance": (moments, lambda s: s[2] / (s[0] - 1) if s[0] > 1 else NAN, nth(0)),
    "extremes": (extremes, some(2, nth(1)), nth(2)),
    "max": (extremes, some(2, nth(1)), nth(2)),
    "min": (extremes, some(2, nth(0)), nth(2)),
    "last": (last, nth(0), lambda s: float(s[1] >= 0)),
    "at_max": (at_max, some(2, nth(1)), nth(2)),
    "rate": (rates, lambda s: over(s[0], s[1]) if s[0] else NAN, nth(0)),
    "cost": (rates, lambda s: over(s[1], s[0]), nth(0)),
    "utilisation": (
        by_column(plus, largest, max),
        lambda s: over(s[0], s[1]) if s[0] and not s[2] else NAN,
        lambda s: 0.0 if s[2] else s[0],
    ),
    "effective_share": (sums, lambda s: over(s[1] * s[1], s[0] * s[2]), nth(0)),
    "pure_noise": (
        by_column(plus, plus, max),
        lambda s: max(0.0, (s[0] / s[1] - s[2]) / (s[1] - 1)) if s[1] > 1 else NAN,
        nth(1),
    ),
    "pearson": (comoments, pearson, nth(0)),
    "explained_variance": (comoments, lambda s: 1 - residual(s), nth(0)),
    "residual_variance": (comoments, residual, nth(0)),
    "stabilised_explained_variance": (comoments, stabilised, nth(0)),
    "loads": (sums, any_of(mean), len),
    "lightest": (sums, any_of(min), len),
    "heaviest": (sums, any_of(max), len),
    "gap": (sums, any_of(lambda s: max(s) - min(s)), len),
    "imbalance": (sums, any_of(lambda s: over(max(s), mean(s)) - 1), len),
    "evenness": (sums, any_of(lambda s: over(min(s), max(s))), len),
    "overload": (experts, off_balance(max, max), lambda s: sum(s[1:])),
    "underload": (experts, off_balance(min, max), lambda s: sum(s[1:])),
    "unevenness": (experts, off_balance(uneven, max), lambda s: sum(s[1:])),
    "overload_mean": (experts, off_balance(max, mean), lambda s: sum(s[1:])),
    "underload_mean": (experts, off_balance(min, mean), lambda s: sum(s[1:])),
    "unevenness_mean": (experts, off_balance(uneven, mean), lambda s: sum(s[1:])),
    "histogram": (histogram, lambda s: quantile(s, 0.5), weight_of),
    "p05": (histogram, lambda s: quantile(s, 0.05), weight_of),
    "p50": (histogram, lambda s: quantile(s, 0.5), weight_of),
    "p95": (histogram, lambda s: quantile(s, 0.95), weight_of),
    "per_group": (per_group, group_value, lambda s: s[2] if s[1] == 5 else float(len(each_group(s)))),
    "per_run": (runs, run_value, lambda s: float(len(each_task(s)))),
    "interval_low": (by_key(1), lambda s: interval(s, 2.5), lambda s: len(s) / 3),
    "interval_high": (by_key(1), lambda s: interval(s, 97.5), lambda s: len(s) / 3),
    "missing": (by_key(2), any_of(missing), lambda s: sum(s[2::3])),
}


def added(kind: str, states: list[State]) -> tuple[float, float]:
    """The value and the weight of several states of one kind."""
    add, value, weight = KINDS[kind]
    total = reduce(add, states)
    return value(total), weight(total)
