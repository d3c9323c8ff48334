"""What a reader keeps has a bound, and is the same as what it would compute again."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.store.sealed.recent_groups import RecentGroups
from rollscope.store.tables import sql
from rollscope.store.tables.computed_steps import ComputedSteps
from rollscope.store.tables.order import by_one_column


class File:
    """Stands for a sealed file: row groups are known by the file they are in."""


def recent(most: int) -> tuple[RecentGroups[bytes, Any], list[int]]:
    decoded: list[int] = []

    def decode(file: Any, group: int) -> bytes:
        decoded.append(group)
        return bytes(10)

    return RecentGroups(decode, len, most), decoded


def test_decoded_groups_are_bounded_in_bytes() -> None:
    groups, decoded = recent(35)
    file: Any = File()
    for group in (0, 1, 2, 0, 3, 0, 1):
        groups(file, group)
    assert decoded == [0, 1, 2, 3, 1] and groups.bytes == 30


def test_a_file_that_is_gone_takes_its_groups_with_it() -> None:
    groups, _ = recent(1000)
    file: Any = File()
    groups(file, 0)
    del file
    gc.collect()
    assert groups.bytes == 0


def test_a_group_larger_than_the_bound_is_not_kept() -> None:
    groups, decoded = recent(5)
    file: Any = File()
    groups(file, 0)
    groups(file, 0)
    assert decoded == [0, 0] and groups.bytes == 0


def test_rows_of_a_sealed_name_are_decoded_once(tmp_path: Path) -> None:
    import rollscope as rs
    from rollscope.store.seal import logs

    with rs.init(dir=str(tmp_path), id="r", host=False) as run:
        for step in range(3):
            run.log({"a": float(step)}, step=step)
    logs.seal(str(tmp_path / "r"))
    (sealed,) = rs.open(str(tmp_path)).run("r").folder.sets
    assert sealed.rows("a").value.tolist() == [0.0, 1.0, 2.0]
    assert sealed.rows("a") is sealed.rows("a")


def statistics(steps: list[int], mark: int) -> pa.Table:
    what = pa.array([f"w{step % 3}" for step in steps for _ in range(2)]).dictionary_encode()
    return pa.table({"step": [step for step in steps for _ in range(2)], "what": what, "mark": [mark] * 2 * len(steps)})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 30), min_size=1, max_size=6)), max_size=25))
def test_steps_in_a_handful_of_tables_are_the_steps_one_by_one(changes: list[tuple[bool, set[int]]]) -> None:
    computed, one_by_one = ComputedSteps(), {}
    for mark, (add, steps) in enumerate(changes):
        computed.drop(np.array(sorted(steps), np.int64))
        one_by_one = {step: value for step, value in one_by_one.items() if step not in steps}
        if add:
            computed.add(sorted(steps), statistics(sorted(steps), mark))
            one_by_one |= dict.fromkeys(steps, mark)
    table = computed.table()
    rows = [] if table is None else list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    expected = [(step, f"w{step % 3}", one_by_one[step]) for step in sorted(one_by_one) for _ in range(2)]
    assert rows == expected
    assert len(computed._parts) <= 6  # of up to 31 steps


NUMBERS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan]))
WHOLE = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
ORDERS = ("x", "x ASC", "x desc", "x DESC NULLS LAST", '"x" asc nulls last')


@settings(max_examples=40, deadline=None)
@given(st.one_of(st.lists(NUMBERS, max_size=12), st.lists(WHOLE, max_size=12)), st.sampled_from(ORDERS))
def test_rows_are_in_the_order_that_sql_gives(values: list[Any], order: str) -> None:
    whole = all(value is None or isinstance(value, int) for value in values)
    rows = pa.table({"x": pa.array(values, pa.int64() if whole else pa.float64())})
    mine = by_one_column(rows, order)
    assert mine is not None
    assert repr(mine["x"].to_pylist()).replace("-0.0", "0.0") == repr(
        sql.choose(rows, None, order, None)["x"].to_pylist()
    ).replace("-0.0", "0.0")


@pytest.mark.parametrize("order", ["x + 1", "x, y", "x NULLS FIRST", "random()", "y", "x; drop table rows", "text"])
def test_any_other_order_is_left_to_sql(order: str) -> None:
    assert by_one_column(pa.table({"x": [1.0], "text": ["a"]}), order) is None


def test_the_best_samples_are_those_of_sql(world: Any, tmp_path: Path) -> None:
    import rollscope as rs

    writer = world.writer()
    rewards = [0.5, None, 2.0, -1.0, 2.0, None, 0.0]
    writer.rows("samples", [{"id": f"s{i}", "step": 0, "reward": reward} for i, reward in enumerate(rewards)])
    writer.finish()
    run = rs.open(world.root).run("r1")
    quick = run.samples(order_by="reward DESC NULLS LAST", limit=4)["reward"]
    slow = run.samples(order_by="reward DESC NULLS LAST, id", limit=4)["reward"]
    np.testing.assert_array_equal(quick, slow)
