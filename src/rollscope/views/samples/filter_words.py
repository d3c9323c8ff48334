"""The filter words of Rollouts for samples of any step: `reward<0.5`, `stop:length`, `format>=1`, `reason:"zero spread"`.

The page filters a step it holds by itself (`web/base/samples/filter-words.js`, `web/base/samples/step-samples.js`); a search goes over the whole run and asks here. Both mean the same by
a word.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollscope.strict_json import plain

NUMBERS = {
    "reward": "reward", "score": "score", "advantage": "advantage", "tokens": "completion_tokens", "length": "completion_tokens", "turns": "turns", "calls": "tool_calls", "failures": "tool_failures",
}  # fmt: skip
TEXTS = {
    "env": "env",
    "environment": "env",
    "stop": "stop_reason",
    "reason": "discard_reason",
    "tag": "tags",
    "split": "split",
}
NAMES = {
    "id": ("id",),
    "group": ("group", "task", "id"),
    "task": ("task", "group", "id"),
}  # the first that a sample has
FATES = ("trained", "dropped", "eval")
COLUMNS = tuple(
    dict.fromkeys(
        [
            *NUMBERS.values(),
            *TEXTS.values(),
            "id",
            "step",
            "group",
            "task",
            "split",
            "rewards",
            "sample_metrics",
            "trained",
            "discard_reason",
        ]
    )
)
PIECE = re.compile(r'[^\s"]*"(?:[^"\\]|\\.)*"|[^\s"]+"?')
FILTER = re.compile(r"([A-Za-z_][\w./-]*)(<=|>=|<|>|=|:)(.+)", re.DOTALL)
RANGE = re.compile(r"(-?[\d.eE+-]+?)\.\.(-?[\d.eE+-]+)")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Word:
    field: str
    op: str
    value: str


def words(query: str) -> list[Word]:
    """The filters of a query; what is no filter is a phrase, and no concern of ours."""
    found = [FILTER.fullmatch(piece) for piece in PIECE.findall(query) if not piece.startswith('"')]
    return [Word(match[1], match[2], _unquoted(match[3])) for match in found if match]


def _unquoted(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text


def fits(row: Row, asked: Sequence[Word], fate: str = "", gini: Callable[[Row], float] = lambda row: math.nan) -> bool:
    """Does a sample pass every word, and has it the fate that is asked for? `gini` gives that of its group, which no row knows alone."""
    return (not fate or fate == _fate(row)) and all(_passes(row, word, gini) for word in asked)


def _passes(row: Row, word: Word, gini: Callable[[Row], float]) -> bool:
    if word.field == "gini":
        return passes(gini(row), word)
    if word.field in TEXTS:
        return says(_text(row[TEXTS[word.field]]), word)
    if word.field in NAMES:
        return says(next((str(row[name]) for name in NAMES[word.field] if row[name]), ""), word)
    return passes(_number(row, word.field), word)


def _fate(row: Row) -> str:
    if row["split"] == "eval":
        return "eval"
    if row["trained"] is not None and row["trained"]:
        return "trained"
    return "dropped" if row["trained"] is not None or row["discard_reason"] else ""


def _text(value: Any) -> str:
    """Tags as the store and the page have them: a text of JSON."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def _number(row: Row, field: str) -> float:
    """A column, else a reward component, else a metric of the sample; an evaluation that gives no reward has its score for one."""
    if field in NUMBERS:
        value = _float(row[NUMBERS[field]])
        return _float(row["score"]) if field == "reward" and math.isnan(value) and row["split"] == "eval" else value
    for column in ("rewards", "sample_metrics"):
        cell = row[column]
        name = field.removeprefix(f"{column}/")
        if isinstance(cell, Mapping) and name in cell:
            return _float(cell[name])
    return math.nan


def _float(value: Any) -> float:
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        return math.nan


def passes(value: float, word: Word) -> bool:
    """`0..0.5` is a range with both ends in it; no number passes nothing."""
    if math.isnan(value):
        return False
    found = RANGE.fullmatch(word.value) if word.op in ":=" else None
    if found:
        return _float(found[1]) - 1e-9 <= value <= _float(found[2]) + 1e-9
    asked = _float(word.value)
    compare = {"<": value < asked, ">": value > asked, "<=": value <= asked, ">=": value >= asked}
    return compare.get(word.op, abs(value - asked) <= 1e-6 * max(1.0, abs(asked)))


def says(text: str, word: Word) -> bool:
    """With `:` part of it is enough, with `=` it is the whole."""
    return text == word.value if word.op == "=" else word.value.lower() in text.lower()
