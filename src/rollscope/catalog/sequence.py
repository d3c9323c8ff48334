"""Functions that the sample-level families share: which samples count, their range, end and fate.

A NaN at sample level means that the sample has no such value: a reward function returned nothing,
or the metric belongs to another environment. Statistics and shares leave it out of their weight;
`reward/missing` and `reward_component/{component}/missing` count how often that happens. An
infinity is a value. Log-probabilities and scores of pairs are numbers of a model, as tokens are:
a NaN there is a broken number, and makes every metric that reads it NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.partials.partial import NAN, Mean, Ratio

from .keys import key

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

key("reward_min", "sample", "declared lowest reward")
key("reward_max", "sample", "declared highest reward")
key("reward_ranges", "object", "environment -> (lowest, highest reward) as declared; read together with `env`")
key("metrics_ranges", "object", "component or sample metric -> (lowest, highest) as declared")

# Stop reasons of a sample that was cut off before its own end.
UNFINISHED = ("length", "max_turns", "aborted", "error", "cancelled")


def floats(x: Any) -> Floats:
    """The numbers of a sample-level key as float64 on the host."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x, np.float64)


def of_sequences(x: Any, completion_tokens: Any = None) -> Floats:
    """The values that are not NaN, without aborted samples.

    A sample without a sampled token is aborted: it counts in no per-sequence statistic.
    """
    values = floats(x)
    known = ~np.isnan(values)
    return values[known if completion_tokens is None else known & (floats(completion_tokens) > 0)]


def without_aborted(x: Any, completion_tokens: Any = None) -> Floats:
    """The values with NaN for aborted samples, for statistics that count members of a group."""
    return floats(x) if completion_tokens is None else np.where(floats(completion_tokens) > 0, floats(x), NAN)


def known(*columns: Any) -> Bools:
    """Which samples have all of these values."""
    return ~_any_nan(*columns)


def compared(hit: Any, *columns: Any) -> Mean:
    """The share of pairs with a hit; NaN if one of the numbers compared is NaN."""
    return Mean.of(np.where(_any_nan(*columns), NAN, np.asarray(hit, np.float64)))


def _any_nan(*columns: Any) -> Bools:
    nan: Bools = np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(floats(x)) for x in columns)))
    return nan


def share(hit: Any, where: Any = True) -> Ratio:
    """The share of hits among the samples at `where`."""
    hit = np.asarray(hit, bool)
    counted = np.broadcast_to(where, hit.shape)
    return Ratio(float(np.count_nonzero(hit & counted)), float(np.count_nonzero(counted)))


def words(label: Any) -> list[str]:
    """Labels as text, "" for none. A sample with one word per generation has the last one."""
    texts = []
    for word in np.asarray(label, object).tolist():
        word = (word[-1] if len(word) else None) if isinstance(word, (list, tuple)) else word
        texts.append("" if word is None or word != word else str(word))
    return texts


def by_name(label: Any) -> dict[str, Bools]:
    """For each name, which samples have it. Samples without a name are left out."""
    each = np.array(words(label), object)
    return {word: np.asarray(each == word, bool) for word in sorted(set(each.tolist())) if word}


def cut_short(stop_reason: Any) -> Bools:
    """Whether any generation of each sample ended with `length`."""
    reasons = np.asarray(stop_reason, object).tolist()
    return np.array(
        ["length" in reason if isinstance(reason, (list, tuple)) else reason == "length" for reason in reasons], bool
    )


def reward_bounds(reward: Any, low: Any, high: Any, ranges: Any, env: Any) -> tuple[Floats, Floats]:
    """The declared range of each sample: that of its environment, else the common one, else NaN."""
    size = floats(reward).shape
    lows, highs = (np.array(np.broadcast_to(floats(NAN if bound is None else bound), size)) for bound in (low, high))
    if isinstance(ranges, Mapping) and env is not None:
        for name, those in by_name(env).items():
            if name in ranges:
                lows[those], highs[those] = ranges[name]
    return lows, highs


def metric_bounds(name: str, ranges: Any) -> tuple[float, float]:
    """The declared range of a component or sample metric; NaN if not declared."""
    low, high = ranges.get(name, (NAN, NAN)) if isinstance(ranges, Mapping) else (NAN, NAN)
    return (NAN if low is None else float(low)), (NAN if high is None else float(high))


def fates(trained: Any, discard_reason: Any) -> tuple[Bools, Bools] | None:
    """Which samples were trained on and which discarded; None if the batch does not say.

    A sample that is neither is not settled yet.
    """
    if trained is None and discard_reason is None:
        return None
    if discard_reason is None:
        discarded = np.zeros(len(trained), bool)
    else:
        discarded = np.array([bool(word) for word in words(discard_reason)], bool)
    if trained is None:
        return ~discarded, discarded
    used = floats(trained) == 1
    return used, (floats(trained) == 0) | (discarded & ~used)
