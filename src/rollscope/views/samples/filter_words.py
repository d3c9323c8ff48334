"""The filter words of Rollouts: `reward<0.5`, `stop:length`, `reason:"zero spread"`, `label:hack`.

The page filters the step it holds in JavaScript (`web/base/`); a search over the whole run filters
here. Both are tested against `tests/fixtures/filter_words.json`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollscope.strict_json import plain

NUMBERS = {  # word -> column
    "reward": "reward",
    "score": "score",
    "advantage": "advantage",
    "tokens": "completion_tokens",
    "length": "completion_tokens",
    "turns": "turns",
    "calls": "tool_calls",
    "failures": "tool_failures",
}
TEXTS = {  # word -> column
    "env": "env",
    "environment": "env",
    "stop": "stop_reason",
    "reason": "discard_reason",
    "tag": "tags",
    "split": "split",
}
NAMES = {  # word -> columns, of which the first that a sample has counts
    "id": ("id",),
    "group": ("group", "task", "id"),
    "task": ("task", "group", "id"),
}
MARKS = ("star", "label", "comment", "set", "marked")  # words about what people said of a sample
PARTS = ("rewards", "sample_metrics")  # columns whose keys are words too
SCAN = "scan/"  # begins the words about what scanners said
COLUMNS = tuple(
    dict.fromkeys([*NUMBERS.values(), *TEXTS.values(), "id", "step", "group", "task", *PARTS, "trained"]),
)
PIECE = re.compile(r'[^\s"]*"(?:[^"\\]|\\.)*"|[^\s"]+"?')
FILTER = re.compile(r"([A-Za-z_][\w./-]*)(<=|>=|<|>|=|:)(.+)", re.DOTALL)
RANGE = re.compile(r"(-?[\d.eE+-]+?)\.\.(-?[\d.eE+-]+)")
Row = Mapping[str, Any]
GiniOf = Callable[[Row], float]


@dataclass(frozen=True, slots=True)
class Word:
    """One filter: a field, an operator and a value."""

    field: str
    op: str
    value: str


def words(query: str) -> list[Word]:
    """The filters of a query. Phrases are left out."""
    matches = [FILTER.fullmatch(piece) for piece in PIECE.findall(query) if not piece.startswith('"')]
    return [Word(match[1], match[2], _unquoted(match[3])) for match in matches if match]


def _unquoted(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text


def fits(row: Row, filters: Sequence[Word], fate: str = "", gini: GiniOf = lambda row: math.nan) -> bool:
    """Does a sample pass every filter, and have the fate (trained, dropped, eval) if one is given?

    `gini` returns the Gini of the sample's group, which a row alone does not tell. The keys `marks`
    and `scans` of a row, if they are there, hold what people and scanners said about the sample.
    """
    return (not fate or fate == fate_of(row)) and all(_passes(row, word, gini) for word in filters)


def _passes(row: Row, word: Word, gini: GiniOf) -> bool:
    if word.field == "gini":
        return number_passes(gini(row), word)
    if word.field in MARKS:
        return any(text_passes(text, word) for text in _marks(row.get("marks"), word.field))
    if word.field in TEXTS:
        return text_passes(_text(row[TEXTS[word.field]]), word)
    if word.field in NAMES:
        return text_passes(next((str(row[name]) for name in NAMES[word.field] if row[name]), ""), word)
    return number_passes(_number(row, word.field), word)


def _marks(marks: Mapping[str, Any] | None, field: str) -> list[str]:
    """The texts that a word about marks looks at: yes or no, or each mark, or "" if none."""
    said = marks or {}
    if field in ("star", "marked"):
        return ["yes" if said and (field == "marked" or said.get("star")) else "no"]
    if field == "comment":
        return [str(comment["text"]) for comment in said.get("comments", [])] or [""]
    return list(said.get(f"{field}s", [])) or [""]


def fate_of(row: Row) -> str:
    """What became of a sample: eval, trained, dropped, or "" while nobody knows."""
    if row["split"] == "eval":
        return "eval"
    if row["trained"] is not None and row["trained"]:
        return "trained"
    return "dropped" if row["trained"] is not None or row["discard_reason"] else ""


def _text(value: Any) -> str:
    """Text of a column; tags as JSON text, as the store and the page have them."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def _number(row: Row, field: str) -> float:
    """A column, else a reward component, a metric of the sample, or what a scanner said of it.

    An evaluation without a reward has its score as reward.
    """
    if field in NUMBERS:
        value = _float(row[NUMBERS[field]])
        return _float(row["score"]) if field == "reward" and math.isnan(value) and row["split"] == "eval" else value
    for column in PARTS:
        parts, name = row[column], field.removeprefix(f"{column}/")
        if isinstance(parts, Mapping) and name in parts:
            return _float(parts[name])
    scans = row.get("scans") or {}
    return _float(scans.get(field, scans.get(f"{SCAN}{field}")))


def _float(value: Any) -> float:
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        return math.nan


def number_passes(value: float, word: Word) -> bool:
    """`0..0.5` is a range that includes both ends. NaN passes nothing."""
    if math.isnan(value):
        return False
    ends = RANGE.fullmatch(word.value) if word.op in ":=" else None
    if ends:
        return _float(ends[1]) - 1e-9 <= value <= _float(ends[2]) + 1e-9
    limit = _float(word.value)
    compare = {"<": value < limit, ">": value > limit, "<=": value <= limit, ">=": value >= limit}
    return compare.get(word.op, abs(value - limit) <= 1e-6 * max(1.0, abs(limit)))


def text_passes(text: str, word: Word) -> bool:
    """`=` compares the whole text; any other operator looks for a part, in any case."""
    return text == word.value if word.op == "=" else word.value.lower() in text.lower()
