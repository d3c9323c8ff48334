"""Text of others, made harmless where it is printed: in a terminal, in JSON, in a spreadsheet.

A run's names and texts come from models, tools and other people. A terminal obeys control
characters; direction and zero-width characters hide or reorder what a person reads; a spreadsheet
runs a cell that looks like a formula.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Control characters (tab and newline stay); what has no glyph, reorders text or fills without ink;
# lone surrogates; the tags and variation selectors that can hide a message.
HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[{HIDDEN}]")
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")  # the last four are their wide forms
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def visible(text: str) -> str:
    """The text with each hidden character as its code, such as `<U+001B>`."""
    return _HIDDEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as JSON, exactly, with every hidden character as JSON's own escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return escaped_json(text)


def escaped_json(text: str) -> str:
    """The same JSON, with each hidden character as an escape: they stand inside strings alone."""
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet runs: a text that starts like a formula gets an apostrophe.

    Numbers stay numbers, also those written as text. `from_csv_cell` takes the apostrophe off.
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def from_csv_cell(text: str) -> str:
    """The text that `csv_cell` wrote."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
