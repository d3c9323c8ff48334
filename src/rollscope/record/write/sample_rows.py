"""From what a caller said about a sample to rows of `samples` and `turns`: types set right, unknown keys kept under `extra`, text redacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.record.caller.device import array
from rollscope.record.caller.sample import as_mapping
from rollscope.store.schema import SAMPLES, TEXT_COLUMNS, TURNS
from rollscope.strict_json import dumps

_COLUMNS = {column.name: column for column in SAMPLES}
_TURN = {column.name: column for column in TURNS}
_OURS = frozenset({"run", "writer", "attempt"})  # written by the store, not by the caller
_PYTHON = {"string": str, "float64": float, "int64": int, "bool": bool}
_EXACTLY = {
    c.name: _PYTHON[c.type] for c in SAMPLES if c.type in _PYTHON and c.name not in _OURS | {"turns", "tool_calls"}
}
_ARRAY = {c.name: np.dtype(c.type[:-2]) for c in SAMPLES if c.type.endswith("[]")}


def spread(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One dict per sample from columns: lists and arrays have one entry per sample, mappings of columns are spread too, anything else is the same for all."""
    plain = {name: array(value) for name, value in columns.items()}
    size = max((len(v) for v in plain.values() if isinstance(v, (list, np.ndarray)) and np.ndim(v) != 0), default=0)
    records: list[dict[str, Any]] = [{} for _ in range(size)]
    for name, value in plain.items():
        if (
            isinstance(value, Mapping)
            and value
            and all(isinstance(array(v), (list, np.ndarray)) for v in value.values())
        ):
            for record, nested in zip(records, spread(value), strict=False):
                record[name] = nested
            continue
        per_sample = value if isinstance(value, (list, np.ndarray)) and len(value) == size else [value] * size
        for record, item in zip(records, per_sample, strict=True):
            record[name] = item
    return records


@dataclass(slots=True)
class Intake:
    """Makes rows of handed-over samples. `odd` is told, once per key, what could not be taken as it was."""

    name: Callable[[], str]  # an id for a sample that has none
    odd: Callable[[str], None]
    redact: Callable[[str], str] | None = None
    withheld: Callable[[str], None] = lambda _: None

    def rows(
        self, records: list[Any], step: int | None, time_ns: int
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of `samples` and of `turns`."""
        made: list[dict[str, Any]] = []
        turns: list[dict[str, Any]] = []
        for i, record in enumerate(records):
            try:
                made.append(self._row(record, step, time_ns, turns))
                records[i] = None  # let go one by one: thousands at once would hold the interpreter for milliseconds
            except Exception as error:
                self.odd(f"a sample could not be read ({error!r})")
        return made, turns

    def _row(
        self, record: Mapping[str, Any], step: int | None, time_ns: int, turns: list[dict[str, Any]]
    ) -> dict[str, Any]:
        row: dict[str, Any] = {"step": step, "time_ns": time_ns}
        extra: dict[str, Any] = {}
        mine: list[dict[str, Any]] = []
        for key, value in record.items():
            kind = type(value)
            if value is None:
                continue
            if kind is _EXACTLY.get(key) or (kind is np.ndarray and key in _ARRAY and value.dtype == _ARRAY[key]):
                row[key] = value  # most are what they should be
                continue
            column = _COLUMNS.get(key)
            if key == "extra" and isinstance(value, Mapping):
                extra |= value
            elif column is None or key in _OURS:
                extra[str(key)] = array(value)
            elif key in ("turns", "tool_calls") and not isinstance(value, (int, float, np.number)):
                row |= {k: v for k, v in _told(key, value, mine).items() if k == key or record.get(k) is None}
            else:
                self._put(row, extra, key, column.type, array(value))
        if extra:
            row["extra"] = extra
        if row.get("id") is None:
            row["id"] = self.name()
        if mine:
            about = {"sample": row["id"], "step": row["step"], "time_ns": time_ns}
            turns += [turn | about for turn in (map(self.clean, mine) if self.redact else mine)]
        return self._redacted(row) if self.redact else row

    def _put(self, row: dict[str, Any], extra: dict[str, Any], key: str, type: str, value: Any) -> None:
        try:
            row[key] = convert(value, type)
        except (TypeError, ValueError, OverflowError):
            extra[key] = value
            self.odd(f"sample field {key!r} should be {type}, not {str(value)[:40]!r}; kept under extra")

    def _redacted(self, row: dict[str, Any]) -> dict[str, Any]:
        for key in row.keys() & (TEXT_COLUMNS | {"tokens", "extra", "tags", "error", "media"}):
            row[key] = self.clean(row[key])
        return row

    def clean(self, value: Any) -> Any:
        """Every text inside a value, redacted; withheld where the callback fails."""
        if isinstance(value, str):
            try:
                cleaned = self.redact(value)  # type: ignore[misc]
                if not isinstance(cleaned, str):
                    raise TypeError(f"it returned {type(cleaned).__name__}, not text")
                return cleaned
            except Exception as error:
                self.withheld(repr(error))
                return "[withheld: redact failed]"
        if isinstance(value, Mapping):
            return {k: self.clean(v) for k, v in value.items()}
        return [self.clean(v) for v in value] if isinstance(value, (list, tuple)) else value


def convert(value: Any, type: str) -> Any:
    """A value as a column of the schema holds it."""
    if type == "string":
        return (
            value
            if isinstance(value, str)
            else value.decode("utf-8", "replace")
            if isinstance(value, bytes)
            else str(value)
        )
    if type == "json":
        return value
    if type.endswith("[]"):
        return np.asarray(value, {"float64[]": "<f8", "int64[]": "<i8", "float32[]": "<f4"}[type])
    if hasattr(value, "item"):
        value = value.item()
    return bool(value) if type == "bool" else float(value) if type == "float64" else int(value)


def _told(key: str, value: Iterable[Any], turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Turn rows of a list of turns or tool calls, and the counts that follow from it."""
    listed = [_turn(item, key, len(turns) + i) for i, item in enumerate(value)]
    turns += listed
    calls = [turn for turn in listed if turn.get("tool") is not None]
    counts = (
        {"tool_calls": len(calls), "tool_failures": sum(turn.get("ok") is False for turn in calls)}
        if calls or key == "tool_calls"
        else {}
    )
    return counts | (
        {"turns": sum(turn.get("role") == "assistant" for turn in listed) or len(listed)} if key == "turns" else {}
    )


def _turn(item: Any, key: str, number: int) -> dict[str, Any]:
    record = as_mapping(item) if not isinstance(item, str) else {"content": item}
    turn: dict[str, Any] = {"turn": number}
    if key == "tool_calls":
        turn["role"] = "tool"
        record = {"tool": record.get("name", "tool"), **record}
    for name, value in record.items():
        column = _TURN.get(name)
        if column is not None and value is not None and name not in _OURS:
            text = column.type == "string" and not isinstance(value, str)
            turn[name] = dumps(value) if text else convert(array(value), column.type)
    return turn
