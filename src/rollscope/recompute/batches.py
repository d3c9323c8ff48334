"""The samples of a step, as columns, become the batches that the catalogue reads.

A training logs the tokens of samples that were trained on, and facts of every sample. So samples
with the same token columns make up one batch, and the partials of all batches of a step merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Columns = Mapping[str, Sequence[Any]]
Batch = dict[str, Any]
LABELS = {
    "id": "sample",
    **{name: name for name in ("task", "group", "env", "stop_reason", "discard_reason")},
}
NUMBERS = (
    *("score", "reward", "repeat", "prompt_tokens", "completion_tokens", "response_tokens", "turns", "tool_calls"),
    *("tool_failures", "generate_seconds", "tool_seconds", "reward_seconds"),
    *("policy_version_min", "policy_version_max", "trained"),
)
TOKENS = {
    **{name: name for name in ("logp", "old_logp", "rollout_logp", "ref_logp", "entropy", "action_mask")},
    "token_advantages": "advantages",
}
TABLES = ("rewards", "sample_metrics")
KEYS = frozenset({*LABELS.values(), *NUMBERS, *TOKENS.values(), *TABLES, "mask"})
READ = (*LABELS, *NUMBERS, *TABLES, "split")


def read_columns(keys: frozenset[str]) -> tuple[str, ...]:
    """The columns of samples that metrics with these inputs need."""
    wanted = keys | ({"action_mask"} if keys & {"mask", *TOKENS.values()} else set())
    return (*READ, *(column for column, key in TOKENS.items() if key in wanted))


def batches(columns: Columns) -> Iterator[Batch]:
    """The batches of one step. Evaluation samples are no part of it."""
    train = [i for i, split in enumerate(columns["split"]) if split != "eval"]
    tokens = [name for name in TOKENS if name in columns]
    by: dict[tuple[str, ...], list[int]] = {}
    for i in train:
        by.setdefault(_token_columns(columns, tokens, i), []).append(i)
    for names, rows in by.items():
        yield _facts(columns, rows) | {TOKENS[name]: [np.asarray(columns[name][i]) for i in rows] for name in names}


def _token_columns(columns: Columns, tokens: Sequence[str], i: int) -> tuple[str, ...]:
    """The token columns that count of a sample: none of one that was not trained on."""
    if "trained" in columns and not _is_true(columns["trained"][i]):
        return ()
    return tuple(name for name in tokens if columns[name][i] is not None and len(columns[name][i]))


def _is_true(value: Any) -> bool:
    return value is None or value != value or bool(value)  # not known: as if it was trained on


def _facts(columns: Columns, rows: Sequence[int]) -> Batch:
    """The facts that some sample of the batch has. A number that is missing is NaN."""
    batch: Batch = {}
    for column, key in LABELS.items():
        words = [columns[column][i] for i in rows]
        if any(word is not None for word in words):
            batch[key] = ["" if word is None else word for word in words]
    for name in NUMBERS:
        numbers = np.array([np.nan if columns[name][i] is None else float(columns[name][i]) for i in rows])
        if not np.isnan(numbers).all():
            batch[name] = numbers
    for name in TABLES:
        if table := _table([columns[name][i] for i in rows]):
            batch[name] = table
    return batch


def _table(cells: Sequence[Any]) -> dict[str, Any]:
    """Name -> a number for each sample, NaN where it has none."""
    said = [json.loads(cell) if isinstance(cell, str) else cell or {} for cell in cells]
    names = dict.fromkeys(name for cell in said for name, value in cell.items() if _is_number(value))
    return {name: np.array([_number(cell.get(name)) for cell in said]) for name in names}


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _number(value: Any) -> float:
    return float(value) if _is_number(value) else np.nan


def _example() -> Batch:
    """Two samples that have everything: what can be computed of them can be computed of samples."""
    words: dict[str, list[Any]] = {name: ["1", "1"] for name in (*LABELS, *NUMBERS)}
    words |= {"trained": [True, True], "split": ["train"] * 2}
    words |= {name: [{"a": 1.0}] * 2 for name in TABLES}
    return next(batches(words | {name: [[1.0]] * 2 for name in TOKENS}))


EXAMPLE = _example()
