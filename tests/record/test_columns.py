"""Samples that stay columns on their way to the log give the rows that samples one by one give."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rollscope.record.caller.handover import Chunk, hand_over
from rollscope.record.caller.sample import Turns
from rollscope.record.loss import Losses
from rollscope.record.write.backlog import LARGE, Backlog
from rollscope.record.write.columns import Columns
from rollscope.record.write.keeper import Keeper
from rollscope.store.log import block
from rollscope.store.log.lists import Lists

COUNT = 10
LENGTHS = np.array([3, 0, 1, 4, 2, 0, 5, 1, 1, 2])
TOKENS = int(LENGTHS.sum())
ODD = {
    "step": [None, 7] * 5,
    "turns": [[{"role": "assistant", "content": "a"}, {"role": "tool", "tool": "t", "ok": False}], 2, None, "x", 1] * 2,
    "tool_calls": [None, 3] * 5,
    "reward": [np.float32(0.5), 1, True, "no", None] * 2,
    "prompt": [b"bytes", "words", 3, None, "\ud800"] * 2,
    "rewards": [{"a": 1.0}, {"b": float("nan")}, "{}", 5, None] * 2,
    "extra": [{"k": 1}, None, {"k": {2}}, [1], "x"] * 2,
    "unknown": [1, "two", None, [3], {"four": 4}] * 2,
    "attempt": list(range(COUNT)),
    "logp": [np.ones(2), [1, 2], None, np.ones(1, np.float32), "none"] * 2,
    "token_ids": [np.arange(n) for n in range(COUNT)],
    "trained": [True, False, None, 1, 0] * 2,
    "policy_version_min": [2**70, 1] * 5,
    "id": [f"s{i}" if i % 3 else None for i in range(COUNT)],
}
WHOLE: dict[str, Any] = {
    "id": [f"s{i}" for i in range(COUNT)],
    "split": ["train"] * COUNT,
    "completion": [f"né {i}" for i in range(COUNT)],
    "prompt": [f"p{i // 2}" for i in range(COUNT)],
    "reward": [i / 3 for i in range(COUNT)],
    "advantage": [None if i % 2 else float(i) for i in range(COUNT)],
    "discard_reason": [None] * COUNT,
    "trained": [i % 2 == 0 for i in range(COUNT)],
    "rewards": [{"format": i / 7, "nan": float("nan")} for i in range(COUNT)],
    "messages": [[{"role": "user", "content": str(i)}] for i in range(COUNT)],
    "token_ids": Lists(np.arange(TOKENS), LENGTHS),
    "action_mask": Lists(np.arange(TOKENS) % 2 == 0, LENGTHS),
    "old_logp": Lists(np.linspace(-1, 0, TOKENS), LENGTHS),
    "logp": Lists(np.linspace(-1, 0, TOKENS, dtype=np.float32), LENGTHS),
}
TURNS = Turns(
    {
        "role": ["assistant", "tool", "assistant", "environment", "tool"],
        "content": ["call", None, "done", "words", None],
        "tokens": [3, 2, 1, None, 4],
        "tool": [None, "add", None, None, "mul"],
        "ok": [None, False, None, False, True],
    },
    np.array([3, 0, 1, 0, 1, 0, 0, 0, 0, 0]),
    [None, 2, None, None, 1, 1, 1, 1, 1, 1],
)


def handed(columns: dict[str, Any], **same: Any) -> tuple[Chunk, dict[str, Any]]:
    chunks, common, _ = hand_over(columns, same, Losses().count)
    assert isinstance(chunks, list) and len(chunks) == 1
    return chunks[0], common


def keeper() -> Keeper:
    return Keeper("writer", Losses(), "all", "4GB", None)


def records(table: str, rows: Any) -> list[dict[str, Any]]:
    """The rows as a reader of the log finds them."""
    backlog = Backlog(Losses(), 1 << 30, 1)
    backlog.add(table, rows)
    blocks = [block.read(memoryview(payload), 0, i) for i, payload in enumerate(backlog.blocks())]
    found = itertools.chain.from_iterable(one.records() for one in blocks if isinstance(one, block.Table))
    return [
        {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()} for row in found
    ]


def same_rows(columns: dict[str, Any], **same: Any) -> tuple[Columns, Any]:
    chunk, common = handed(columns, **same)
    taken = keeper().columns(chunk, 4, 99, common)
    chunk, common = handed(columns, **same)
    rows, turns = keeper().rows(chunk.records(), 4, 99, common)
    assert taken is not None
    assert repr(records("samples", taken[0])) == repr(records("samples", rows))  # repr: NaN equals itself
    assert repr(records("turns", taken[1])) == repr(records("turns", turns))
    return taken


@pytest.mark.parametrize("name", ODD)
def test_odd_values_of_one_column_are_read_as_those_of_rows(name: str) -> None:
    same_rows({**WHOLE, name: ODD[name]})


def test_all_odd_columns_together_and_a_value_for_all() -> None:
    same_rows({**WHOLE, **ODD}, env="math", advantage=0.25, tags=["a"])


def test_columns_that_fit_stay_whole() -> None:
    taken, turns = same_rows(WHOLE)
    assert isinstance(taken.values["token_ids"], Lists) and taken.values["old_logp"].values.dtype == np.float32  # type: ignore[union-attr]
    assert turns == []


@pytest.mark.parametrize("said", [{}, {"tool_calls": [5, None] * 5, "tool_failures": [None, 1] * 5}])
def test_turns_as_columns_are_counted_as_lists_of_them_are(said: dict[str, Any]) -> None:
    _, turns = same_rows({**WHOLE, **said, "turns": TURNS})
    assert isinstance(turns, Columns) and turns.values["turn"] == [0, 1, 2, 0, 0]


def test_turns_with_an_unknown_field_become_rows() -> None:
    odd = Turns({**TURNS.fields, "mood": ["good"] * 5}, TURNS.lengths, TURNS.counts)
    _, turns = same_rows({**WHOLE, "turns": odd})
    assert isinstance(turns, list)


def test_what_a_source_hands_over_is_a_copy() -> None:
    values = np.arange(TOKENS)
    chunk, _ = handed({**WHOLE, "token_ids": Lists(values, LENGTHS), "turns": TURNS})
    values[:] = 0
    assert chunk.columns["token_ids"].values.tolist() == list(range(TOKENS))
    assert chunk.columns["turns"].fields["role"] is not TURNS.fields["role"]


def test_columns_are_cut_at_any_row() -> None:
    rows = [np.arange(n) for n in LENGTHS]
    whole = Lists.of(rows)
    for first, last in itertools.combinations(range(COUNT + 1), 2):
        assert [row.tolist() for row in whole[first:last]] == [row.tolist() for row in rows[first:last]]
        assert [*TURNS.part(first, last)] == [*TURNS][first:last]
    assert [whole[i].tolist() for i in (0, 3, -1)] == [rows[i].tolist() for i in (0, 3, -1)]
    assert whole.sums().tolist() == [float(row.sum()) for row in rows]


def test_many_samples_are_several_blocks_in_order() -> None:
    count, text = 20, "x" * (LARGE // 8)
    backlog = Backlog(Losses(), 1 << 30, 1)
    backlog.add("samples", [{"id": "before"}])
    backlog.add("samples", Columns(count, {"id": [str(i) for i in range(count)], "prompt": [text] * count}))
    backlog.add("samples", [{"id": "after"}])
    blocks = [block.read(memoryview(payload), 0, 0) for payload in backlog.blocks()]
    ids = [[row["id"] for row in one.records()] for one in blocks if isinstance(one, block.Table)]
    assert [*itertools.chain(*ids)] == ["before", *map(str, range(count)), "after"] and len(ids) > 4
    assert backlog.held == 0


def test_a_full_memory_takes_token_arrays_from_columns_before_their_text() -> None:
    losses = Losses()
    backlog = Backlog(losses, 4000, 1)
    backlog.add("samples", Columns(2, {"id": ["a", "b"], "prompt": ["p", None], "token_ids": [np.arange(999), None]}))
    backlog.shrink()
    (payload,) = backlog.blocks()
    found = block.read(memoryview(payload), 0, 0)
    assert isinstance(found, block.Table) and found.records() == [
        {"id": "a", "attempt": 1, "prompt": "p"},
        {"id": "b", "attempt": 1},
    ]
    assert losses.total == {("token arrays", "memory was full while the store could not be written"): 1}


def test_a_budget_that_is_spent_makes_rows_again() -> None:
    columns = {**WHOLE, "token_ids": Lists(np.zeros(COUNT * 1000, np.int64), np.full(COUNT, 1000))}
    spent = Keeper("writer", Losses(), "all", "40KB", None)
    assert spent.columns(*handed(columns)[:1], 1, 1, {}) is None
    rows, _ = spent.rows(handed(columns)[0].records(), 1, 1, {})
    assert any("thinned" in row.get("extra", {}) for row in rows)
