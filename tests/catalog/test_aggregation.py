"""Merging steps: the type of a partial decides what veRL decides by the words in a key."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest

from rollscope.catalog.partials.partial import Last, Max, Mean, Min, Sum
from rollscope.catalog.partials.rate import Gap

from .verl_step import VERL

ORACLE = VERL["aggregator"]
FIRST, SECOND, MERGED = ORACLE["step1(w=1)"], ORACLE["step2(w=3)"], ORACLE["aggregated"]


@pytest.mark.parametrize(
    ("key", "of"),
    [
        ("actor/pg_loss", lambda x, w, t: Mean(x * w, w)),
        ("actor/lr", lambda x, w, t: Last(x, t)),
        ("training/global_step", lambda x, w, t: Last(x, t)),
        ("perf/total_num_tokens", lambda x, w, t: Sum(x, w)),
        ("global_seqlen/max", lambda x, w, t: Max.of([x])),
        ("response_length/max", lambda x, w, t: Max.of([x])),
        ("global_seqlen/min", lambda x, w, t: Min.of([x])),
        ("response_length/min", lambda x, w, t: Min.of([x])),
    ],
)
def test_the_type_says_what_verl_reads_off_the_key(key: str, of: object) -> None:
    parts = [of(FIRST[key], 1.0, 1), of(SECOND[key], 3.0, 2)]  # type: ignore[operator]
    assert reduce(add, parts).value == pytest.approx(MERGED[key]) == pytest.approx(reduce(add, parts[::-1]).value)


def test_where_we_differ() -> None:
    """veRL takes the gap of merged ends; ours is the gap between the total work of the ranks."""
    assert MERGED["global_seqlen/minmax_diff"] == MERGED["global_seqlen/max"] - MERGED["global_seqlen/min"]
    ranks = [
        Gap((FIRST["global_seqlen/min"], FIRST["global_seqlen/max"])),
        Gap((SECOND["global_seqlen/max"], SECOND["global_seqlen/min"])),
    ]
    assert reduce(add, ranks).value == abs((4 + 10) - (9 + 3)) == 2
