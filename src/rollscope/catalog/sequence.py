"""What the sample-level families share: which samples count, which range was declared, how a sample ended, what became of it.

A NaN at sample level means "this sample has no such value" (a reward function that returned nothing, a metric of another environment): it is
left out of the statistic, and `reward/missing` and `reward_component/{component}/missing` say how often that happened. An infinity is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.partials.partial import NAN, Ratio

from .keys import key

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

key("reward_min", "sample", "declared lowest reward")
key("reward_max", "sample", "declared highest reward")
key("reward_ranges", "object", "environment -> (lowest, highest reward) as declared; read together with `env`")
key("metrics_ranges", "object", "component or sample metric -> (lowest, highest) as declared")

UNFINISHED = (
    "length",
    "max_turns",
    "aborted",
    "error",
    "cancelled",
)  # stop reasons of a sample that did not come to its own end


def floats(x: Any) -> Floats:
    """Numbers of a sample-level key as float64 on the host; what is still on a device there is one number per sample."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x, np.float64)


def of_sequences(x: Any, completion_tokens: Any = None) -> Floats:
    """The values that are there, without aborted samples: one without a sampled token is in no per-sequence statistic."""
    values = floats(x)
    there = ~np.isnan(values)
    return values[there if completion_tokens is None else there & (floats(completion_tokens) > 0)]


def without_aborted(x: Any, completion_tokens: Any = None) -> Floats:
    """The same values, NaN for aborted samples: for statistics that keep a sample's place in its group."""
    return floats(x) if completion_tokens is None else np.where(floats(completion_tokens) > 0, floats(x), NAN)


def share(hit: Any, where: Any = True) -> Ratio:
    """How many of the samples at `where` are hits."""
    hit = np.asarray(hit, bool)
    counted = np.broadcast_to(where, hit.shape)
    return Ratio(float(np.count_nonzero(hit & counted)), float(np.count_nonzero(counted)))


def words(label: Any) -> list[str]:
    """Labels as text, "" where there is none. A sample that carries one word per generation is known by the last."""
    found = []
    for word in np.asarray(label, object).tolist():
        word = (word[-1] if len(word) else None) if isinstance(word, (list, tuple)) else word
        found.append("" if word is None or word != word else str(word))
    return found


def by_name(label: Any) -> dict[str, Bools]:
    """Which samples carry which name; samples without one are under no name."""
    each = np.array(words(label), object)
    return {word: np.asarray(each == word, bool) for word in sorted(set(each.tolist())) if word}


def cut_short(stop_reason: Any) -> Bools:
    """Did any generation of the sample end with `length`?"""
    return np.array(
        [
            ("length" in word) if isinstance(word, (list, tuple)) else word == "length"
            for word in np.asarray(stop_reason, object).tolist()
        ],
        bool,
    )


def reward_bounds(reward: Any, low: Any, high: Any, ranges: Any, env: Any) -> tuple[Floats, Floats]:
    """The declared range of every sample, NaN where none was: its environment's, else the one for all."""
    size = floats(reward).shape
    lows, highs = (np.array(np.broadcast_to(floats(NAN if bound is None else bound), size)) for bound in (low, high))
    if isinstance(ranges, Mapping) and env is not None:
        for name, those in by_name(env).items():
            if name in ranges:
                lows[those], highs[those] = ranges[name]
    return lows, highs


def metric_bounds(name: str, ranges: Any) -> tuple[float, float]:
    low, high = ranges.get(name, (NAN, NAN)) if isinstance(ranges, Mapping) else (NAN, NAN)
    return (NAN if low is None else float(low)), (NAN if high is None else float(high))


def fates(trained: Any, discard_reason: Any) -> tuple[Bools, Bools] | None:
    """(trained on, discarded) of every sample; one that is neither is not settled yet. None when the batch does not say."""
    if trained is None and discard_reason is None:
        return None
    thrown = (
        np.zeros(len(trained), bool)
        if discard_reason is None
        else np.array([bool(word) for word in words(discard_reason)], bool)
    )
    if trained is None:
        return ~thrown, thrown
    kept = floats(trained) == 1
    return kept, (floats(trained) == 0) | (thrown & ~kept)
