"""Makes rows of `samples` and `turns` from the samples of a caller.

Values get their column's type, unknown keys are kept under `extra`, and texts are redacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.record.caller.device import array
from rollscope.record.caller.label import plain_text, shown, text
from rollscope.record.caller.sample import as_mapping
from rollscope.record.loss import ODD, Lose, one_line
from rollscope.store.schema import SAMPLES, TEXT_COLUMNS, TURNS
from rollscope.strict_json import dumps, parsed

_COLUMNS = {column.name: column for column in SAMPLES}
_TURN_COLUMNS = {column.name: column for column in TURNS}
_OURS = frozenset({"run", "writer", "attempt"})  # written by the store, not by the caller
_PYTHON = {"string": str, "float64": float, "int64": int, "bool": bool}
COUNTS = frozenset({"turns", "tool_calls"})  # a number, or a list to count
EXACT = {c.name: _PYTHON[c.type] for c in SAMPLES if c.type in _PYTHON and c.name not in _OURS | COUNTS}
EXACT_OF_TURN = {c.name: _PYTHON[c.type] for c in TURNS if c.type in _PYTHON and c.name not in _OURS}
ARRAYS = {c.name: np.dtype(c.type[:-2]) for c in SAMPLES if c.type.endswith("[]")}
MEMBERS = dict.fromkeys(("rewards", "sample_metrics"), "a mapping of names to numbers")
_DATA = (str, bytes, int, float, list, dict, set, np.ndarray, np.generic)  # what JSON is made of, or nearly
_REDACTED = TEXT_COLUMNS | {"tokens", "extra", "tags", "error", "media"}


def spread(columns: Mapping[str, Any], lose: Lose) -> list[dict[str, Any]]:
    """One dict per sample from a mapping of columns.

    A list or an array has one entry per sample: as many as there are ids, else as the longest has.
    A mapping of columns is spread too. Any other value is the same for all samples.
    """
    plain = dict(_arrays(columns, lose))
    lengths = {name: len(value) for name, value in plain.items() if _is_column(value)}
    count = lengths.get("id", max(lengths.values(), default=0))
    records: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, value in plain.items():
        if isinstance(value, Mapping) and value and all(_is_column(inner) for _, inner in _arrays(value, lose)):
            for record, nested in zip(records, spread(value, lose), strict=False):
                record[name] = nested
            continue
        per_sample = value if _is_column(value) and len(value) == count else [value] * count
        for record, item in zip(records, per_sample, strict=True):
            record[name] = item
    return records


def _arrays(columns: Mapping[str, Any], lose: Lose) -> Iterator[tuple[str, Any]]:
    """The columns with arrays in place of tensors."""
    for name, value in columns.items():
        try:
            yield name, array(value)
        except ODD as error:
            lose("values", f"{name!r} of the samples could not be read: {one_line(error)}")


def _is_column(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)


@dataclass(slots=True)
class RowBuilder:
    """Makes rows of samples.

    `report` is called with a sentence for each value that does not fit.
    """

    new_id: Callable[[], str]  # for a sample that has none
    report: Callable[[str], None]
    lose: Lose
    redact: Callable[[str], str] | None = None
    withheld: Callable[[str], None] = lambda _: None  # called with the error when `redact` fails

    def rows(
        self, records: list[Any], step: int | None, time_ns: int
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of `samples` and of `turns`. Empties `records`."""
        rows: list[dict[str, Any]] = []
        turns: list[dict[str, Any]] = []
        for i, record in enumerate(records):
            try:
                rows.append(self.row(record, step, time_ns, turns))
                records[i] = None  # freeing thousands at once would hold the interpreter for milliseconds
            except ODD as error:
                self.lose("samples", f"a sample could not be read: {one_line(error)}")
        return rows, turns

    def row(
        self, record: Mapping[str, Any], step: int | None, time_ns: int, turns: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The row of one sample; its turns are added to `turns`."""
        row: dict[str, Any] = {"step": step, "time_ns": time_ns}
        extra: dict[str, Any] = {}
        own_turns: list[dict[str, Any]] = []
        for key, value in record.items():
            kind = type(value)
            if value is None:
                continue
            if kind is EXACT.get(key) or (kind is np.ndarray and key in ARRAYS and value.dtype == ARRAYS[key]):
                row[key] = value  # most values have their column's type already
                continue
            try:
                self._field(row, extra, own_turns, record, key, value)
            except ODD as error:
                self.lose("values", f"{text(key, self.lose)!r} of a sample could not be read: {one_line(error)}")
        if extra:
            row["extra"] = extra
        if row.get("id") is None:
            row["id"] = self.new_id()
        if own_turns:
            about = {"sample": row["id"], "step": row["step"], "time_ns": time_ns}
            turns += [turn | about for turn in (map(self.clean, own_turns) if self.redact else own_turns)]
        return self._redacted(row) if self.redact else row

    def _field(
        self,
        row: dict[str, Any],
        extra: dict[str, Any],
        own_turns: list[dict[str, Any]],
        record: Mapping[str, Any],
        key: Any,
        value: Any,
    ) -> None:
        """Put a value where it belongs: into its column, its turns, or under `extra`."""
        column = _COLUMNS.get(key)
        if key == "extra" and isinstance(value, Mapping):
            extra |= {text(name, self.lose): self._plain(inner) for name, inner in value.items()}
        elif column is None or key in _OURS:
            extra[text(key, self.lose)] = self._plain(array(value))
        elif key in COUNTS and isinstance(value, (list, np.ndarray)):
            counts = self._count_turns(key, value, own_turns)
            row |= {name: n for name, n in counts.items() if name == key or record.get(name) is None}
        else:
            self._put(row, extra, key, column.type, array(value))

    def _plain(self, value: Any) -> Any:
        """The value if it is data, else its text."""
        return value if value is None or isinstance(value, _DATA) else text(value, self.lose)

    def _put(self, row: dict[str, Any], extra: dict[str, Any], key: str, type: str, value: Any) -> None:
        try:
            known = convert(value, type)
            if key in MEMBERS and not isinstance(parsed(known) if isinstance(known, str) else known, Mapping):
                raise TypeError("these are names and numbers")
            row[key] = known
        except ODD:
            extra[key] = self._plain(value)
            expected = MEMBERS.get(key, type)
            self.report(f"sample field {key!r} should be {expected}, not {shown(value)}; kept under extra")

    def _count_turns(self, key: str, value: Iterable[Any], turns: list[dict[str, Any]]) -> dict[str, Any]:
        """Add rows for a list of turns or tool calls to `turns`, and return the sample's counts."""
        numbered = enumerate(value, len(turns))
        rows = [row for number, item in numbered if (row := self._turn(item, key, number)) is not None]
        turns += rows
        calls = [row for row in rows if row.get("tool") is not None]
        counts: dict[str, Any] = {}
        if calls or key == "tool_calls":
            counts = {"tool_calls": len(calls), "tool_failures": sum(row.get("ok") is False for row in calls)}
        if key == "turns":
            counts["turns"] = sum(row.get("role") == "assistant" for row in rows) or len(rows)
        return counts

    def _turn(self, item: Any, key: str, number: int) -> dict[str, Any] | None:
        try:
            return _turn(item, key, number, self.lose)
        except ODD as error:
            self.lose("turns", f"a turn could not be read: {one_line(error)}")
            return None

    def _redacted(self, row: dict[str, Any]) -> dict[str, Any]:
        for key in row.keys() & _REDACTED:
            row[key] = self.clean(row[key])
        return row

    def clean(self, value: Any) -> Any:
        """The value with every text inside it redacted. A text is withheld if `redact` fails."""
        if isinstance(value, str):
            try:
                cleaned = self.redact(value)  # type: ignore[misc]
                if not isinstance(cleaned, str):
                    raise TypeError(f"it returned {type(cleaned).__name__}, not text")
                return cleaned
            except ODD as error:
                self.withheld(repr(error))
                return "[withheld: redact failed]"
        if isinstance(value, Mapping):
            return {key: self.clean(inner) for key, inner in value.items()}
        return [self.clean(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def convert(value: Any, type: str) -> Any:
    """A value as a column of the schema holds it. Raises if it cannot be converted."""
    if type == "string":
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else plain_text(value)
    if type == "json":
        return _json_text(value) if isinstance(value, str) else value
    if type.endswith("[]"):
        return np.asarray(value, {"float64[]": "<f8", "int64[]": "<i8", "float32[]": "<f4"}[type])
    if hasattr(value, "item"):
        value = value.item()
    return bool(value) if type == "bool" else float(value) if type == "float64" else int(value)


def _json_text(value: str) -> str:
    """A text for a JSON column: itself if it is an object or a list in JSON, else in quotes."""
    return value if value.lstrip()[:1] in ("{", "[") and not isinstance(parsed(value), str) else dumps(value)


def _turn(item: Any, key: str, number: int, lose: Lose) -> dict[str, Any]:
    record = item if type(item) is dict else {"content": item} if isinstance(item, str) else as_mapping(item)
    turn: dict[str, Any] = {"turn": number}
    if key == "tool_calls":
        turn["role"] = "tool"
        record = {"tool": record.get("name", "tool"), **record}
    for name, value in record.items():
        if type(value) is EXACT_OF_TURN.get(name):  # most values have their column's type already
            turn[name] = value
            continue
        column = _TURN_COLUMNS.get(name)
        if column is not None and value is not None and name not in _OURS:
            as_json = column.type == "string" and isinstance(value, (Mapping, list))
            try:
                turn[name] = dumps(value) if as_json else convert(array(value), column.type)
            except ODD as error:
                lose("values", f"{name!r} of a turn should be {column.type}, not {shown(value)} ({one_line(error)})")
    return turn
