"""The parts of a change add up to the change, whatever is missing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.views.why.why import why

SAMPLE = st.tuples(
    st.integers(0, 6),
    st.one_of(st.floats(-1e3, 1e3), st.just(float("nan"))),
    st.sampled_from(["a", "b", None]),
    st.sampled_from(["stop", "length", None]),
    st.one_of(st.none(), st.integers(0, 50000)),
)
STEP = st.lists(SAMPLE, min_size=1, max_size=60)


def columns(rows: list) -> tuple[dict, np.ndarray]:
    group, value, env, stop, tokens = zip(*rows, strict=True)
    return {
        "group": [f"g{g}" for g in group],
        "task": [f"t{g}" for g in group],
        "env": env,
        "stop_reason": stop,
        "completion_tokens": tokens,
    }, np.array(value, float)


@settings(max_examples=200, deadline=None)
@given(STEP, STEP)
def test_the_parts_add_up_to_the_change(now: list, before: list) -> None:
    a, x = columns(now)
    b, y = columns(before)
    answer = why("reward/mean", 7, 6, a, b, x, y)
    finite = np.isfinite(x).any() and np.isfinite(y).any()
    if not finite:
        assert answer.parts == () and np.isnan(answer.change)
        return
    scale = max(1.0, np.nanmax(np.abs(np.r_[x, y])))
    assert abs(sum(p.adds for p in answer.parts) - answer.change) <= 1e-9 * scale
    for kinds in answer.kinds.values():
        assert abs(sum(k.more + k.each for k in kinds) - answer.change) <= 1e-9 * scale


@settings(max_examples=100, deadline=None)
@given(STEP, STEP)
def test_each_part_is_its_formula_in_exact_fractions(now: list, before: list) -> None:
    """n_g/N (m_g - M) over samples with a value; as fractions they add up to exactly the change."""
    a, x = columns(now)
    b, y = columns(before)
    answer = why("reward/mean", 7, 6, a, b, x, y)
    here, there = ([(f"g{row[0]}", Fraction(row[1])) for row in step if row[1] == row[1]] for step in (now, before))
    if not here or not there:
        assert answer.parts == ()
        return
    level = sum(value for _, value in there) / len(there)
    exact = {name: sum(value - level for g, value in here if g == name) / len(here) for name in {g for g, _ in here}}
    change = sum(value for _, value in here) / len(here) - level
    assert sum(exact.values()) == change
    close = 1e-12 * max(1.0, *(abs(float(value)) for _, value in here + there))
    assert {part.group for part in answer.parts} == exact.keys() and abs(answer.change - float(change)) <= close
    for part in answer.parts:
        assert abs(part.adds - float(exact[part.group])) <= close
        assert part.count == sum(g == part.group for g, _ in here)


def test_a_group_that_fell_is_the_first_part() -> None:
    before, y = columns([(0, 1.0, "a", "stop", 10)] * 4 + [(1, 1.0, "a", "stop", 10)] * 4)
    now, x = columns([(0, 0.0, "a", "length", 10)] * 4 + [(2, 1.0, "a", "stop", 10)] * 4)
    answer = why("reward/mean", 1, 0, now, before, x, y)
    assert (answer.parts[0].group, answer.parts[0].adds) == ("g0", -0.5)
    stop = {k.name: k for k in answer.kinds["stop reason"]}
    assert stop["length"].more < 0 and stop["length"].each == 0


def test_a_change_of_shares_is_apart_from_a_change_of_means() -> None:
    easy, hard = (0, 1.0, "easy", "stop", 10), (1, 0.0, "hard", "stop", 10)
    before, y = columns([easy] * 5 + [hard] * 5)
    now, x = columns([easy] * 2 + [hard] * 8)
    kinds = {k.name: k for k in why("reward/mean", 1, 0, now, before, x, y).kinds["environment"]}
    assert kinds["hard"].each == kinds["easy"].each == 0
    assert np.isclose(kinds["hard"].more + kinds["easy"].more, -0.3)


def test_samples_without_a_value_are_left_out_and_counted() -> None:
    now, x = columns([(0, 1.0, "a", "stop", 1), (0, float("nan"), "a", "stop", 1)])
    before, y = columns([(0, 0.0, "a", "stop", 1)])
    answer = why("reward/mean", 1, 0, now, before, x, y)
    assert answer.counted == (1, 1) and answer.left_out == (1, 0) and answer.change == 1.0
