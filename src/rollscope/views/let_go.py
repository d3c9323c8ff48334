"""What a rule of a lake let go of, as a sentence: a text that is gone is no empty text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rollscope.store.run import Run
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS, TURN_TEXT_COLUMNS

COLUMNS = {"text": TEXT_COLUMNS, "tokens": TOKEN_COLUMNS}


def let_go_sentence(run: Run) -> str:
    """Says what the samples of a run had and have no more; nothing if they have everything."""
    gone = run.let_go()
    return f"{_sentence(gone)} Samples that were marked then keep theirs." if gone else ""


def let_go_of_sample(run: Run, sample: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]) -> str:
    """The same of one sample. One that was marked has everything, so nothing is said of it."""
    gone = run.let_go()
    has = {what for what in gone if any(sample.get(name) is not None for name in COLUMNS[what])}
    if any(turn.get(name) is not None for turn in turns for name in TURN_TEXT_COLUMNS):
        has.add("text")
    lacks = {what: time_ns for what, time_ns in gone.items() if what not in has}
    return _sentence(lacks) if lacks else ""


def _sentence(gone: Mapping[str, int]) -> str:
    days: dict[str, list[str]] = {}
    for what, time_ns in sorted(gone.items()):
        days.setdefault(datetime.fromtimestamp(time_ns / 1e9, UTC).date().isoformat(), []).append(f"the {what}")
    whats = ", and of ".join(f"{' and '.join(some)} on {day}" for day, some in days.items())
    return f"The lake let go of {whats}, by its rule for this run."
