"""Rows of `log_eval`: what goes to the `evals` table, and the sample a row may bring with it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from rollscope.record.caller.sample import as_mapping
from rollscope.store.schema import EVALS

_COLUMNS = {column.name for column in EVALS}


def sample_of(row: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The row's `sample`, when it is a sample and not the id of one."""
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


def taken(row: Mapping[str, Any], sample: Mapping[str, Any] | None) -> dict[str, Any]:
    """The row's columns; a score given without `scores` is one."""
    kept = {key: value for key, value in row.items() if key in _COLUMNS and key != "sample"}
    if "scores" not in kept:
        kept["scores"] = {"score": float(row["score"])} if row.get("score") is not None else {}
    kept["scores"] = {str(key): float(value) for key, value in kept["scores"].items() if value is not None}
    kept["failed"] = bool(row.get("failed", False))
    kept["task"] = None if row.get("task") is None else str(row["task"])
    kept["answer"] = None if row.get("answer") is None else str(row["answer"])
    turns = row.get("turns")
    kept["turns"] = len(turns) if isinstance(turns, (list, tuple)) else turns
    kept["sample"] = sample["id"] if sample is not None else None if row.get("sample") is None else str(row["sample"])
    return kept
