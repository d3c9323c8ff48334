"""Rows of `log_eval`: their columns of the `evals` table, and the sample a row may bring."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

from rollscope.record.caller.frozen import listed
from rollscope.record.caller.label import label, shown, text
from rollscope.record.caller.sample import as_mapping
from rollscope.record.caller.step import step_number
from rollscope.record.loss import ODD, Lose, one_line
from rollscope.store.schema import EVALS

_COLUMNS = {column.name for column in EVALS}
_NUMBERS: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("repeat", "turns", "tokens"), step_number),
    "seconds": float,
}


def eval_rows(results: Any, name: str, lose: Lose) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `evals`, and the samples that they bring. A row that cannot be read is left out."""
    rows, samples = [], []
    for result in listed(results, lose, "rows of evaluations"):
        try:
            given = as_mapping(result)
            sample = _sample(given, name)
            rows.append(_row(given, sample, lose))
            samples += [sample] if sample is not None else []
        except ODD as error:
            lose("rows of evaluations", f"a row could not be read: {one_line(error)}")
    return rows, samples


def _sample(row: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The row's `sample`, if it is a sample and not the id of one."""
    sample = row.get("sample")
    if not isinstance(sample, Mapping) and not is_dataclass(sample):
        return None
    record = as_mapping(sample)
    if record.get("id") is None:
        record["id"] = f"{name}-{secrets.token_hex(5)}"
    record.setdefault("task", row.get("task"))
    record.setdefault("repeat", row.get("repeat"))
    return record


def _row(row: Mapping[str, Any], sample: Mapping[str, Any] | None, lose: Lose) -> dict[str, Any]:
    """The row of `evals`. A `score` without `scores` becomes the only one of them."""
    columns = {key: value for key, value in row.items() if key in _COLUMNS and key != "sample"}
    scores = columns.get("scores", {} if row.get("score") is None else {"score": row["score"]})
    columns["scores"] = _scores(scores if isinstance(scores, Mapping) else {"score": scores}, lose)
    columns["failed"] = bool(row.get("failed", False))
    for key in ("task", "answer", "stop_reason", "cluster"):
        columns[key] = _text(row.get(key), lose)
    columns["tags"] = _tags(row.get("tags"), lose)
    turns = row.get("turns")
    columns["turns"] = len(turns) if isinstance(turns, (list, tuple)) else turns
    for key, kind in _NUMBERS.items():
        columns[key] = _number(key, columns.get(key), kind, lose)
    columns["sample"] = _text(sample["id"] if sample is not None else row.get("sample"), lose)
    return columns


def _scores(scores: Mapping[Any, Any], lose: Lose) -> dict[str, float]:
    """The scores as numbers. One that is no number is left out."""
    numbers = {}
    for key, value in scores.items():
        try:
            if value is not None:
                numbers[text(key, lose)] = float(value)
        except ODD as error:
            lose("values", f"the score {text(key, lose)!r} was not a number but {shown(value)} ({one_line(error)})")
    return numbers


def _tags(tags: Any, lose: Lose) -> list[str] | None:
    """Words; one word alone is a list of one."""
    if tags is None:
        return None
    words = [tags] if isinstance(tags, str) else listed(tags, lose, "values")
    return [label(word, lose) for word in words]


def _number(name: str, value: Any, kind: Callable[[Any], float], lose: Lose) -> float | None:
    try:
        return None if value is None else kind(value)
    except ODD as error:
        lose("values", f"{name!r} of an evaluation was not a number but {shown(value)} ({one_line(error)})")
        return None


def _text(value: Any, lose: Lose) -> str | None:
    return None if value is None else label(value, lose)
