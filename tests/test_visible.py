"""Text of others is harmless where it is printed: laws over every character there is."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.visible import csv_cell, escaped_json, from_csv_cell, json_text, visible

EVERY = "".join(map(chr, range(sys.maxunicode + 1)))
SEEN = (  # format characters that draw something: signs of Arabic, Syriac and Kaithi
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


def test_no_control_format_or_separator_character_is_left() -> None:
    """By Unicode's own categories, so that a character that a new version brings is noticed."""
    left = {c for c in visible(EVERY) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert left == {"\n", "\t", *SEEN}


def test_characters_that_people_write_are_left_alone() -> None:
    for text in ("Grüße, 世界! ∑∂≤ ▁▂▃█ …", "e\u0301 and \u00a0 and \u3000", "👩🚀 🏳 ❤\ufe0f", "a\tb\nc"):
        assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "<U+001B>[2J"),
        ("\x9b2J", "<U+009B>2J"),
        ("a\rb", "a<U+000D>b"),
        ("\x7f", "<U+007F>"),
        ("abc\u202efdp.exe", "abc<U+202E>fdp.exe"),
        ("a\u200bb", "a<U+200B>b"),
        ("\U000e0041", "<U+E0041>"),
        ("\U000e0100", "<U+E0100>"),
        ("\ud800", "<U+D800>"),
        ("\u3164", "<U+3164>"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_its_code(text: str, shown: str) -> None:
    assert visible(text) == shown and visible(shown) == shown


def test_json_is_exact_and_has_no_hidden_character() -> None:
    apart = " ".join(EVERY)  # two halves of a character beside each other are the character
    for text in (json_text({apart: [apart]}), json_text({apart: [apart]}, indent=2)):
        assert visible(text) == text
        ((key, (value,)),) = json.loads(text).items()
        assert key == value == apart


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_text_is_exact_in_json(text: str) -> None:
    line = escaped_json(json.dumps(text, ensure_ascii=False))
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(line) == joined and visible(line) == line


FORMULAS = [
    "=1+1",
    "+A1",
    "-A1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=cmd|' /C calc'!A0",
    "＝1",
    "'=1",
    "''-x",
    "- item",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_starts_like_a_formula_is_not_one_in_csv(text: str) -> None:
    assert csv_cell(text) == f"'{text}" and from_csv_cell(f"'{text}") == text


@pytest.mark.parametrize(
    "value", [-1, -0.5, 1e-6, None, True, "-1", "+1.5", "-1e-06", ".5", "a=b", "it's", "'quoted'", ""]
)
def test_numbers_and_plain_texts_stay_as_they_are_in_csv(value: object) -> None:
    assert csv_cell(value) is value


@given(st.text(st.sampled_from("'=+-@\t\r\n＝a1 ,\"")))
def test_every_text_comes_back_from_a_cell(text: str) -> None:
    assert from_csv_cell(csv_cell(text)) == text
    file = io.StringIO(newline="")
    csv.writer(file).writerow(["x", csv_cell(text)])
    ((_, cell),) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert from_csv_cell(cell) == text
