"""Rows of `log_eval`: their columns of the `evals` table, and the sample a row may bring."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from rollscope.record.caller.sample import as_mapping
from rollscope.store.schema import EVALS

_COLUMNS = {column.name for column in EVALS}


def sample_of(row: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The row's `sample`, if it is a sample and not the id of one."""
    sample = row.get("sample")
    if sample is None or isinstance(sample, (str, int)):
        return None
    record = dict(as_mapping(sample))
    record.setdefault("id", None)
    if record["id"] is None:
        record["id"] = f"{name}-{secrets.token_hex(5)}"
    record.setdefault("task", row.get("task"))
    record.setdefault("repeat", row.get("repeat"))
    return record


def eval_row(row: Mapping[str, Any], sample: Mapping[str, Any] | None) -> dict[str, Any]:
    """The row of `evals`. A `score` without `scores` becomes the only one of them."""
    columns = {key: value for key, value in row.items() if key in _COLUMNS and key != "sample"}
    scores = columns.get("scores", {} if row.get("score") is None else {"score": row["score"]})
    columns["scores"] = {str(key): float(value) for key, value in scores.items() if value is not None}
    columns["failed"] = bool(row.get("failed", False))
    columns["task"] = _text(row.get("task"))
    columns["answer"] = _text(row.get("answer"))
    turns = row.get("turns")
    columns["turns"] = len(turns) if isinstance(turns, (list, tuple)) else turns
    columns["sample"] = sample["id"] if sample is not None else _text(row.get("sample"))
    return columns


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
