"""Numbers that grow in pieces are the numbers that were put in, wherever steps change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rollscope.store.live import paged
from rollscope.store.live.growing import STEP, GrowingArray, StepColumns
from rollscope.store.live.step_counts import StepCounts
from rollscope.store.numbers.step_marks import StepMarks


@pytest.fixture(params=["files", "memory"], autouse=True)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "_place", str(tmp_path) if request.param == "files" else None)
    monkeypatch.setattr(paged, "FEWEST", 256)


def test_an_array_is_what_was_appended() -> None:
    array, expected = GrowingArray(np.uint64), np.empty(0, np.uint64)
    for size in (1, 1, 300, 0, 5, 2, 700, 1):
        new = np.arange(size, dtype=np.uint64) * 7
        array.append(new)
        expected = np.concatenate([expected, new])
        assert array.whole().dtype == np.uint64 and (array.whole() == expected).all()


def grown(rng: np.random.Generator) -> tuple[StepColumns, dict[int, dict[str, float]]]:
    """Columns after many changes, and the same as a dictionary."""
    columns, model = StepColumns(), dict[int, dict[str, float]]()
    for turn in range(300):
        late = turn % 7 == 6  # most steps are new, some come late, some again
        steps = np.unique(rng.integers(turn if late else 3 * turn, 3 * turn + 4, 3) if turn else [0])
        names = ["a"] if turn < 40 else ["a", "b"]  # a metric that began later
        piece: dict[Any, Any] = {STEP: steps} | {name: rng.random(len(steps)) for name in names}
        columns.put(piece)
        model |= {step: {name: piece[name][i] for name in names} for i, step in enumerate(steps.tolist())}
        if turn % 11 == 10:
            gone = np.unique(rng.integers(0, 3 * turn, 4))
            columns.drop(gone)
            model = {step: row for step, row in model.items() if step not in gone}
    return columns, model


@pytest.mark.parametrize("seed", range(4))
def test_columns_hold_the_last_numbers_of_each_step(seed: int) -> None:
    columns, model = grown(np.random.default_rng(seed))
    steps = sorted(model)
    assert columns.steps().tolist() == steps and columns.names() == [STEP, "a", "b"]
    for name in ("a", "b"):
        expected = [model[step].get(name, np.nan) for step in steps]
        assert np.array_equal(columns.column(name), expected, equal_nan=True)


def test_few_pieces_hold_many_steps() -> None:
    columns = StepColumns()
    for step in range(5000):
        columns.put({STEP: np.array([step - 1, step] if step else [0]), "a": np.ones(2 if step else 1)})
    assert len(columns._pieces) < 16 and columns.steps().tolist() == list(range(5000))


def test_rows_of_a_step_that_come_in_many_blocks_are_counted_together() -> None:
    counts, rng, expected = StepCounts(), np.random.default_rng(0), dict[int, int]()
    for block in range(200):
        steps = [None if i == 3 else int(block // 4 + i % 2) for i in rng.integers(0, 5, 6)]
        counts.add(pa.table({"step": pa.array(steps, pa.int64())}))
        for step in steps:
            if step is not None:
                expected[step] = expected.get(step, 0) + 1
    assert counts.all().by_step() == dict(sorted(expected.items()))


def test_marks_of_several_files_are_added() -> None:
    one, other = StepMarks.of({1: 2, 5: 1}), StepMarks.of({0: 1, 5: 3})
    both = StepMarks.sum([one, other])
    assert both.by_step() == {0: 1, 1: 2, 5: 4} and StepMarks.sum([]).by_step() == {}
    assert both.at(np.array([5, 2, 0, 9])).tolist() == [4, 0, 1, 0]
    assert both.until(1).by_step() == {0: 1, 1: 2} and both.until(None).by_step() == both.by_step()
