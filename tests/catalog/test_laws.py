"""The laws for every entry of the catalogue.

An entry has all its texts; parts merge to the whole; the order of samples does not matter; no data
is NaN. A new entry of any family is tested here without a change to this file. Splits are by
sample.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rollscope as rs
import rollscope.catalog.families  # fills METRICS
from rollscope.catalog.compute.subset import take
from rollscope.catalog.keys import KEYS, TOKEN_LEVELS
from rollscope.catalog.names.dialect import FRAMEWORKS
from rollscope.catalog.partials.partial import Partial, from_state
from rollscope.catalog.spec import METRICS, Metric
from tests.catalog.world import WORDS, policy_world

each_entry = pytest.mark.parametrize("entry", METRICS.values(), ids=list(METRICS))
CONFIGURATIONS: tuple[dict[str, str], ...] = (
    {},
    {"ratio_level": "sequence"},
    {"ratio_level": "sequence_sum", "rs_option": "seq_sum_k3", "loss_agg": "seq-mean-token-mean"},
    WORDS,
    *({"loss_mode": mode} for mode in ("cispo", "gpg", "geo_mean", "sapo", "dppo_tv", "dppo_kl", "kl_cov")),
)


@each_entry
def test_an_entry_says_what_it_is(entry: Metric) -> None:
    for part in ("meaning", "definition", "unit", "good", "read", "example"):
        assert str(getattr(entry, part)).strip(), f"{entry.name} has no {part}"
    assert entry.check, f"{entry.name} does not say what to check"
    assert entry.meaning.endswith((".", "?", "!")), f"the meaning of {entry.name} is not a sentence"
    assert entry.needs, f"{entry.name} does not say what it needs"


@each_entry
def test_names_and_alarms_of_an_entry_are_complete(entry: Metric) -> None:
    for name in entry.names:
        assert name.framework in FRAMEWORKS and name.scale != 0
        assert name.same or name.note, (
            f"{entry.name}: {name.framework} {name.key} is another quantity, and the note does not say which"
        )
    for alarm in entry.alarms:
        assert alarm.source, f"an alarm of {entry.name} has no source"
        assert not alarm.stat or alarm.stat in entry.stats


def about_tokens(entry: Metric) -> bool:
    return entry.define is not None and any(KEYS[need].level in TOKEN_LEVELS for need in entry.needs)


FROM_LOGITS = {"logits", "ref_logits"}  # test_vocabulary tests the entries that need them
TOKEN_ENTRIES = [entry for entry in METRICS.values() if about_tokens(entry) and not set(entry.needs) & FROM_LOGITS]
each_token_entry = pytest.mark.parametrize("entry", TOKEN_ENTRIES, ids=[entry.name for entry in TOKEN_ENTRIES])


@cache
def world(number: int, rows: int = 12) -> dict[str, Any]:
    return policy_world(number, rows, 10, **CONFIGURATIONS[number])


@cache
def computed(number: int) -> dict[str, Partial]:
    metrics: dict[str, Partial] = rs.compute(world(number))
    return metrics


def of_entry(entry: Metric, metrics: dict[str, Partial]) -> dict[str, Partial]:
    head = entry.name.split("{")[0]
    exact = {head} | {f"{head}/{stat}" for stat in entry.stats}
    return {name: p for name, p in metrics.items() if name in exact or ("{" in entry.name and name.startswith(head))}


@each_token_entry
def test_a_computed_entry_is_computed(entry: Metric) -> None:
    """Some configuration of a complete batch gives it a number."""
    values = [p.value for number in range(len(CONFIGURATIONS)) for p in of_entry(entry, computed(number)).values()]
    assert any(not math.isnan(value) for value in values)


def close(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)


def disagreements(one: dict[str, Partial], other: dict[str, Partial]) -> dict[str, tuple[float, float]]:
    assert set(one) == set(other)
    return {name: (one[name].value, other[name].value) for name in one if not close(one[name].value, other[name].value)}


def merged(parts: list[dict[str, Partial]]) -> dict[str, Partial]:
    whole: dict[str, Partial] = {}
    for part in parts:
        whole |= {name: whole[name] + p if name in whole else p for name, p in part.items()}
    return whole


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, len(CONFIGURATIONS) - 1),
    st.lists(st.integers(0, 2), min_size=12, max_size=12),
    st.permutations(range(3)),
)
def test_parts_merge_to_the_whole_in_any_order(number: int, owner: list[int], order: list[int]) -> None:
    """Samples go to three ranks at random; a rank may get none."""
    parts = [rs.compute(take(world(number), np.array(owner) == rank)) for rank in order]
    tokens_only = {name for entry in TOKEN_ENTRIES for name in of_entry(entry, computed(number))}
    whole = {name: p for name, p in computed(number).items() if name in tokens_only}
    assert not disagreements(whole, {name: p for name, p in merged(parts).items() if name in tokens_only})


@settings(max_examples=15, deadline=None)
@given(st.integers(0, len(CONFIGURATIONS) - 1), st.permutations(range(12)))
def test_the_order_of_samples_does_not_matter(number: int, order: list[int]) -> None:
    assert not disagreements(computed(number), rs.compute(take(world(number), order)))


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_merging_is_associative(number: int) -> None:
    a, b, c = (rs.compute(take(world(number), range(i, i + 4))) for i in (0, 4, 8))
    for name in a:
        assert close(((a[name] + b[name]) + c[name]).value, (a[name] + (b[name] + c[name])).value), name


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_a_partial_comes_back_from_its_state(number: int) -> None:
    for name, partial in computed(number).items():
        again = from_state(partial.kind, partial.state())
        assert close(again.value, partial.value) and close(again.weight, partial.weight), name
        assert all(isinstance(x, float) for x in partial.state()), name


WITH_EMPTY = (  # their definitions count samples without tokens
    "policy/reward_kl_penalty",
    "policy/variance/",
    "mismatch/rollout_corr",
    "mismatch/rejection/seq_masked_fraction",
    "policy/loss/configured",
)


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_no_data_is_nan_not_zero(number: int) -> None:
    nothing = np.zeros((12, 10), bool)
    metrics = rs.compute(world(number) | {"mask": nothing, "action_mask": nothing, "valid_mask": nothing})
    policy = {
        n: p.value
        for n, p in metrics.items()
        if n.split("/")[0] in ("policy", "critic", "mismatch", "advantage") and not n.startswith(WITH_EMPTY)
    }
    step = {name for name in policy if METRICS.get(name) and not about_tokens(METRICS[name])}
    assert {name: value for name, value in policy.items() if not math.isnan(value) and name not in step} == {}


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_nan_outside_the_masks_changes_nothing(number: int) -> None:
    clean = world(number)
    outside = ~(clean["valid_mask"] | clean["action_mask"])
    dirty = {
        name: np.where(outside, math.nan, x) if KEYS[name].level == "token" and np.ndim(x) == 2 else x
        for name, x in clean.items()
    }
    assert not disagreements(computed(number), rs.compute(dirty))
