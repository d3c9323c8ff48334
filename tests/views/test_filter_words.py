"""The filter words, held to the same table of examples as the JavaScript of the page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rollscope.views.samples.filter_words import COLUMNS, fits, words

TABLE = json.loads((Path(__file__).parent.parent / "fixtures" / "filter_words.json").read_text("utf-8"))


@pytest.mark.parametrize("case", TABLE["parse"], ids=lambda case: case["query"])
def test_a_query_is_read_as_these_filters(case: dict[str, Any]) -> None:
    assert [[word.field, word.op, word.value] for word in words(case["query"])] == case["filters"]


@pytest.mark.parametrize("case", TABLE["fits"], ids=lambda case: f"{case['words']} on {case['sample']}")
def test_a_sample_passes_these_words(case: dict[str, Any]) -> None:
    sample = TABLE["samples"][case["sample"]]
    row = {column: sample.get(column) for column in (*COLUMNS, "marks")}
    gini = sample.get("gini", math.nan)
    assert fits(row, words(case["words"]), case.get("fate", ""), lambda row: gini) is case["expected"]


def test_an_evaluation_without_a_reward_is_filtered_by_its_score() -> None:
    """Only in Python: the server packs the score as the reward before the page sees the sample."""
    row = dict.fromkeys(COLUMNS) | {"id": "a", "split": "eval", "score": 0.75}
    assert fits(row, words("reward>0.5")) and not fits(row, words("reward<0.5"))
    assert not fits({**row, "split": "train"}, words("reward>0.5"))
