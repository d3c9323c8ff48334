"""Strict JSON: whatever goes in, a strict parser reads what comes out, and reads it the same."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch

from rollscope import strict_json
from rollscope.catalog.partials.partial import Mean
from rollscope.sinks.numbers import speakable


def parse(text: str | bytes) -> Any:
    """A parser without the words NaN and Infinity, as browsers and DuckDB are."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Tensor:
    """What is neither numpy's nor torch's, but lists itself as they do."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value


class Level(IntEnum):
    HIGH = 3


class Opaque:
    def __str__(self) -> str:
        return "opaque"


NESTED = {"a": [{"b": ["Infinity"]}, {"c": ["NaN"]}]}
VALUES = [
    pytest.param(None, None, id="no data"),
    pytest.param(True, True, id="true"),
    pytest.param(2**70, 2**70, id="an integer of any size"),
    pytest.param(Level.HIGH, 3, id="an integer enum"),
    pytest.param(0.1, 0.1, id="a float"),
    pytest.param(-0.0, -0.0, id="minus zero"),
    pytest.param(math.nan, "NaN", id="NaN"),
    pytest.param(math.inf, "Infinity", id="infinity"),
    pytest.param(-math.inf, "-Infinity", id="minus infinity"),
    pytest.param("日本語 \x00 \n", "日本語 \x00 \n", id="text"),
    pytest.param((1, "a"), [1, "a"], id="a tuple"),
    pytest.param({"b", "a"}, ["a", "b"], id="a set"),
    pytest.param(frozenset({2, 10}), ["10", "2"], id="a frozen set"),
    pytest.param(np.float32(0.5), 0.5, id="a numpy float"),
    pytest.param(np.float64(math.nan), "NaN", id="a numpy NaN"),
    pytest.param(np.int64(7), 7, id="a numpy integer"),
    pytest.param(np.bool_(True), True, id="a numpy boolean"),
    pytest.param(np.str_("x"), "x", id="a numpy text"),
    pytest.param(np.array(2.5), 2.5, id="a numpy array of no dimension"),
    pytest.param(np.array([[1.0, math.nan], [-math.inf, 2.0]]), [[1.0, "NaN"], ["-Infinity", 2.0]], id="an array"),
    pytest.param(torch.tensor([1.0, math.inf]), [1.0, "Infinity"], id="a tensor"),
    pytest.param(torch.tensor(0.5, dtype=torch.bfloat16), 0.5, id="a bfloat16 scalar"),
    pytest.param(Tensor([1, math.nan]), [1, "NaN"], id="anything with tolist"),
    pytest.param(Path("/a/b"), "/a/b", id="a path"),
    pytest.param(Opaque(), "opaque", id="any other object"),
    pytest.param(MappingProxyType({"a": 1}), {"a": 1}, id="a mapping that is not a dict"),
    pytest.param(OrderedDict(b=1, a=2), {"b": 1, "a": 2}, id="an ordered dict"),
    pytest.param({"a": [{"b": (math.inf,)}, {"c": np.array([math.nan])}]}, NESTED, id="nested"),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_any_value_becomes_what_json_has(value: Any, expected: Any) -> None:
    plain = strict_json.plain(value)
    assert plain == expected
    assert type(plain) is type(expected) or isinstance(value, type(expected)), "only a subclass of it may stay"


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_every_writer_writes_it_so_that_a_strict_parser_reads_the_same(value: Any, expected: Any) -> None:
    inside, read = {"value": value}, {"value": expected}
    assert parse(strict_json.dumps(inside)) == read
    assert parse(strict_json.encode(inside)) == read
    assert parse(strict_json.encode(inside, compact=True)) == read


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_plain_values_stay_as_they_are(value: Any, expected: Any) -> None:
    assert strict_json.plain(expected) == expected


NUMBERS = [(None, None), (1, 1.0), (0.25, 0.25), (np.float32(0.5), 0.5), (True, 1.0)]
WORDS = [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (np.float16("nan"), "NaN")]


@pytest.mark.parametrize(("value", "expected"), NUMBERS + WORDS)
def test_a_number_is_a_float_a_word_or_none(value: Any, expected: Any) -> None:
    assert strict_json.number(value) == expected
    assert isinstance(strict_json.number(value), float | str | None)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_float_reads_the_words_back(word: str) -> None:
    assert strict_json.number(float(word)) == word


LONE = "lone \ud83d surrogate"


def test_a_lone_surrogate_survives_in_files_as_its_escape() -> None:
    for value in (LONE, [LONE], {LONE: LONE}, {"a": {"b": LONE}}, {"nan": math.nan, "text": LONE}):
        data = strict_json.encode(value)
        assert parse(data) == strict_json.plain(value, surrogates=True)
        assert b"\\ud83d" in data and parse(strict_json.encode(value, compact=True)) == parse(data)


def test_a_lone_surrogate_is_a_question_mark_where_a_person_reads() -> None:
    class Named:
        def __str__(self) -> str:
            return LONE

    for value in (LONE, [LONE], {LONE: 1}, {LONE}, Tensor([LONE]), Named()):
        text = strict_json.dumps(strict_json.plain(value))
        assert "lone ? surrogate" in text and text.encode(), "it has a UTF-8 form"


def test_a_text_without_a_lone_surrogate_is_not_changed() -> None:
    assert strict_json.plain("🎉") == "🎉" and not strict_json.has_surrogate("🎉") and strict_json.has_surrogate(LONE)


@pytest.mark.parametrize(
    ("key", "expected"),
    [(1, "1"), ((1, 2), "(1, 2)"), (Path("a"), "a"), (Level.HIGH, "3"), (LONE, "lone ? surrogate")],
)
def test_keys_that_are_not_text_become_text(key: Any, expected: str) -> None:
    assert list(strict_json.plain({key: 0})) == [expected]
    assert all(isinstance(name, str) for name in parse(strict_json.encode({key: 0})))


def test_compact_leaves_out_the_spaces_and_nothing_else() -> None:
    value = {"a": [1, 2.5, None], "b": {"c": math.nan}}
    assert strict_json.encode(value, compact=True) == b'{"a":[1,2.5,null],"b":{"c":"NaN"}}'
    assert strict_json.encode(value) == b'{"a": [1, 2.5, null], "b": {"c": "NaN"}}'
    assert strict_json.dumps(value).encode() == strict_json.encode(value)


def test_text_is_not_escaped_without_need() -> None:
    assert strict_json.encode("é 日本") == '"é 日本"'.encode() and strict_json.dumps("é 日本") == '"é 日本"'


PARTIALS = [
    pytest.param(Mean(6.0, 4.0), 1.5, id="a partial is its number"),
    pytest.param(Mean(), None, id="a partial without data is null"),
    pytest.param(Mean(math.nan, 2.0), "NaN", id="a partial of a NaN is the word"),
    pytest.param({"a": [Mean(1.0, 1.0), {"b": Mean()}]}, {"a": [1.0, {"b": None}]}, id="wherever it stands"),
    pytest.param({3: {"x"}}, {"3": ["x"]}, id="everything else as in strict_json"),
]


@pytest.mark.parametrize(("value", "expected"), PARTIALS)
def test_sinks_write_partials_as_numbers(value: Any, expected: Any) -> None:
    assert speakable(value) == expected and parse(strict_json.encode(speakable(value))) == expected


def test_sinks_choose_what_becomes_of_a_lone_surrogate() -> None:
    assert speakable({LONE: [LONE]}) == {"lone ? surrogate": ["lone ? surrogate"]}
    assert speakable({LONE: [LONE]}, surrogates=True) == {LONE: [LONE]}
