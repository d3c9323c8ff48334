"""Laws of the whole catalogue: no number is finite because inputs are NaN; a share lies in 0..1.

A NaN of a model (tokens inside the mask, log-probabilities and scores of pairs) makes every metric
that cannot do without it NaN. A NaN fact of a sample means that the sample has no such value: it is
left out of the weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.compute.inputs import parameters
from rollscope.catalog.compute.subset import take
from rollscope.catalog.keys import KEYS
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.partials.partial import Partial
from rollscope.catalog.spec import METRICS, Metric
from rollscope.errors import BadBatch
from tests.catalog.whole_world import CONFIGURATIONS, whole_world

SIZE = 12
NOT_VALUES = {"repeat", "reward_min", "reward_max", "max_prompt_tokens", "max_completion_tokens", "max_total_tokens"}
NUMBERS = sorted(
    name
    for name, value in whole_world(0, SIZE).items()
    if KEYS[name].level in ("token", "sample", "table") and name not in NOT_VALUES
)
PAIRS = {"chosen_logp", "rejected_logp", "ref_chosen_logp", "ref_rejected_logp", "chosen_score", "rejected_score"}
COUNT_SAMPLES = {  # they count samples or groups, with and without a value
    *("counter/samples", "counter/episodes", "samples/generated", "samples/trained", "samples/with_reward"),
    *("group/not_counted", "group/count", "reward/missing", "reward_component/{component}/missing"),
}
READ_OTHERWISE = {  # (entry, key): it can do without the key, or reads only that it is there
    ("counter/tokens", "prompt_tokens"),  # a running total adds up what is known
    ("counter/tokens", "completion_tokens"),
    ("reward_model/grad_norm", "chosen_score"),  # the key says that a reward model is trained
    ("mismatch/rollout_corr/{statistic}", "completion_tokens"),  # only chi2_token divides by it
    ("mismatch/rollout_corr_weights/{statistic}", "completion_tokens"),  # not read by its maximum before truncation
    ("critic/predictions", "old_values"),  # the current values stand in
    ("critic/values", "values"),  # the values that made the advantages stand in
}


def can_do_without(entry: Metric, key: str) -> bool:
    """Whether another key can stand in: an entry with only optional inputs, or a scope by fate."""
    assert entry.define is not None
    any_of = all(optional for _, optional in parameters(entry.define))
    fate = key in ("trained", "terminated") or entry.name.startswith(("discarded/", "samples/"))
    ends = key in ("completion_tokens", "response_tokens") and entry.name.startswith("length/")
    return any_of or fate or ends or entry.name in COUNT_SAMPLES or (entry.name, key) in READ_OTHERWISE


@cache
def entry_of(name: str) -> Metric:
    return resolve(name).entry


def reading(key: str, metrics: dict[str, Partial]) -> Iterator[tuple[str, float]]:
    """The metrics that cannot do without a key, and their values."""
    for name, partial in metrics.items():
        entry = entry_of(name)
        if entry.define is not None and key in entry.needs and not can_do_without(entry, key):
            yield name, partial.value


def with_nan(value: Any, where: Any = ...) -> Any:
    if isinstance(value, dict):
        return {name: with_nan(column, where) for name, column in value.items()}
    value = np.array(value, np.float64)
    value[where] = math.nan
    return value


@cache
def world(number: int) -> dict[str, Any]:
    return whole_world(number, SIZE, fates=number % 2 == 0, configuration=number % len(CONFIGURATIONS))


WORLDS = range(2 * len(CONFIGURATIONS))


def worlds_with(key: str) -> Iterator[dict[str, Any]]:
    yield from (world(number) for number in WORLDS if key in world(number))


@pytest.mark.parametrize("key", NUMBERS)
def test_inputs_that_are_all_nan_never_give_a_number(key: str) -> None:
    finite = {}
    for batch in worlds_with(key):
        metrics = rs.compute(batch | {key: with_nan(batch[key])})
        finite |= {name: value for name, value in reading(key, metrics) if not math.isnan(value)}
    assert not finite


@pytest.mark.parametrize("key", [key for key in NUMBERS if KEYS[key].level == "token"])
def test_one_nan_token_inside_the_mask_makes_nan(key: str) -> None:
    finite = {}
    for batch in worlds_with(key):
        row, column = np.argwhere(batch["mask"])[-1]
        metrics = rs.compute(batch | {key: with_nan(batch[key], (row, column))})
        finite |= {name: value for name, value in reading(key, metrics) if not math.isnan(value)}
    assert not finite


@pytest.mark.parametrize("key", [key for key in NUMBERS if KEYS[key].level != "token"])
def test_a_nan_sample_is_left_out_or_makes_nan(key: str) -> None:
    different = {}
    without = np.array([2, 7])
    for batch in worlds_with(key):
        got = rs.compute(batch | {key: with_nan(batch[key], without)})
        expected = rs.compute(take(batch, np.setdiff1d(np.arange(SIZE), without)))
        for name, value in reading(key, got):
            is_same = name in expected and math.isclose(value, expected[name].value, rel_tol=1e-9, abs_tol=1e-12)
            if not math.isnan(value) and not is_same:
                different[name] = (value, expected.get(name))
    assert not different


@pytest.mark.parametrize("key", sorted(PAIRS))
def test_one_nan_of_a_pair_makes_nan(key: str) -> None:
    metrics = rs.compute(world(0) | {key: with_nan(world(0)[key], 3)})
    assert [name for name, value in reading(key, metrics) if not math.isnan(value)] == []


def test_the_weight_says_how_many_samples_were_left_out() -> None:
    batch = {"prompt_tokens": [5.0, math.nan, 9.0], "max_prompt_tokens": 9, "reward": [1.0, 0.0, math.nan]}
    metrics = rs.compute(batch)
    assert (metrics["length/prompt_at_limit"].value, metrics["length/prompt_at_limit"].weight) == (0.5, 2)
    assert metrics["reward/missing"].value == pytest.approx(1 / 3) and metrics["samples/generated"].value == 3


def test_nan_is_told_from_no_clipping_on_torch_too() -> None:
    torch = pytest.importorskip("torch")
    batch = {"logp": torch.zeros(2, 3), "old_logp": torch.zeros(2, 3), "advantages": torch.ones(2, 3)}
    batch |= {"action_mask": torch.ones(2, 3), "clip_low": 0.2, "clip_high": 0.2}
    assert rs.compute(batch)["policy/clip/region"].value == 0.0
    batch["logp"][1, 2] = math.nan
    spoiled = rs.compute(batch)["policy/clip/region"]
    assert math.isnan(spoiled.value) and spoiled.weight == 6
    batch["action_mask"][1, 2] = 0
    assert rs.compute(batch)["policy/clip/region"].value == 0.0, "outside the mask it is never read"


# Shares

OF_PEAK = "perf/mfu"  # a model that does more than its GPU can shows that the peak or the count is wrong


def wild(batch: dict[str, Any], seed: int) -> dict[str, Any]:
    """The batch with odd values in a third of its number keys."""
    dice = np.random.default_rng(seed)
    odd = [0.0, 1.0, 2.0, 0.5, 7.0, 100.0, 1e9, math.nan, math.inf, -1.0, -50.0]
    keys = [key for key in NUMBERS if KEYS[key].level != "table" and dice.random() < 0.34]
    operators = [{"name": "f", "in": int(dice.integers(0, 9)), "out": int(dice.integers(0, 30)), "seconds": 1.0}]
    more = {key: dice.choice(odd, np.shape(batch[key])) for key in keys if np.ndim(batch.get(key))}
    return batch | more | {"operators": operators}


@pytest.mark.parametrize("seed", range(40))
def test_every_share_lies_between_0_and_1(seed: int) -> None:
    batch = wild(world(seed % len(WORLDS)), seed)
    parts = [rs.compute(part, strict=False) for part in (batch, take(batch, range(5)), take(batch, range(5, SIZE)))]
    shares = {
        f"{number}: {name}": partial.value
        for number, metrics in enumerate(parts)
        for name, partial in metrics.items()
        if entry_of(name).unit == "share" and not name.startswith(OF_PEAK)
    }
    assert len(shares) > 50
    assert {name: x for name, x in shares.items() if not (math.isnan(x) or -1e-9 <= x <= 1 + 1e-9)} == {}


def test_every_share_declares_its_range() -> None:
    shares = [entry for entry in METRICS.values() if entry.unit == "share" and entry.define is not None]
    assert [entry.name for entry in shares if entry.range != (0, 1)] == []


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "more failed calls than calls": {"tool_calls": [1.0, 0.0], "tool_failures": [1.0, 1.0]},
    "more accepted than drafted tokens": {"spec_drafted": [2.0, 2.0], "spec_accepted": [3.0, 2.0]},
    "a flag of 2": {"success_once": [1.0, 2.0]},
    "an operator that passes less than nothing on": {"operators": [{"name": "f", "in": 4, "out": -1}]},
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_inputs_that_contradict_each_other_are_named(case: str) -> None:
    with pytest.raises(BadBatch):
        rs.compute(CONTRADICTIONS[case])
    problems: list[str] = []
    rs.compute(CONTRADICTIONS[case], strict=False, problems=problems)
    assert problems and any(key in problems[0] for key in CONTRADICTIONS[case])
