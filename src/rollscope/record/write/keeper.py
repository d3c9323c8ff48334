"""Samples between the call and the store: rows are made, texts redacted, budgets applied."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from rollscope.record.caller.handover import Chunk
from rollscope.record.loss import ODD, Losses, one_line
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS, TURN_TEXT_COLUMNS

from .budget import Budget, thinned_columns
from .columns import Columns
from .sample_columns import FEW, columns
from .sample_rows import RowBuilder

REDACTED = {"notes": {"text", "data"}, "evals": {"answer"}, "spans": {"data", "causes"}}  # beside samples and turns


class Keeper:
    """Makes rows of samples, and decides how much of their text is kept."""

    def __init__(
        self,
        writer: str,
        losses: Losses,
        keep_text: str | int | float,
        keep_tokens: str | int | float,
        redact: Callable[[str], str] | None,
    ) -> None:
        self._losses = losses
        self._numbers = itertools.count()
        self._text = Budget(keep_text, TEXT_COLUMNS, "keep_text")
        self._tokens = Budget(keep_tokens, TOKEN_COLUMNS, "keep_tokens")
        self._builder = RowBuilder(
            lambda: f"{writer[:8]}-{next(self._numbers)}", self._report, losses.count, redact, self._count_withheld
        )

    def rows(
        self, samples: list[dict[Any, Any]], step: int | None, time_ns: int, common: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of `samples` and of `turns`. `common` fills in what a sample does not say itself."""
        for key, value in common.items():
            for sample in samples:
                if sample.get(key) is None:
                    sample[key] = value
        rows, turns = self._builder.rows(samples, step, time_ns)
        try:
            self._thin(rows, turns)
        except ODD as error:
            self._losses.say(f"a budget could not be applied ({one_line(error)}); everything is kept", "budget")
        return rows, turns

    def columns(
        self, chunk: Chunk, step: int | None, time_ns: int, common: Mapping[str, Any]
    ) -> tuple[Columns, Columns | list[dict[str, Any]]] | None:
        """The same as columns; None if they must be rows: few ones, or ones to change."""
        if chunk.count < FEW or not chunk.columns or self._builder.redact is not None:
            return None
        if not (self._text.is_unlimited and self._tokens.keeps_all):
            return None
        try:
            taken, turns = columns(self._builder, chunk, step, time_ns, common)
        except ODD:  # a sample that cannot be read costs itself alone when it is a row
            return None
        return (taken, turns) if self._tokens.take(taken) else None

    def _thin(self, rows: list[dict[str, Any]], turns: list[dict[str, Any]]) -> None:
        for budget, what in ((self._text, "sample texts"), (self._tokens, "token arrays")):
            if lost := budget.apply(rows):
                self._losses.count(what, f"thinned by {budget.setting}", lost, of_store=False)
        if turns:
            _thin_turns(rows, turns)

    def redacted(self, table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows of another table, with their texts redacted if `redact` was given."""
        columns = REDACTED.get(table)
        if self._builder.redact is None or columns is None:
            return rows
        clean = self._builder.clean
        return [{key: clean(value) if key in columns else value for key, value in row.items()} for row in rows]

    def _report(self, text: str) -> None:
        self._losses.say(text, key=text.split(" should be ")[0])

    def _count_withheld(self, error: str) -> None:
        self._losses.count("texts", f"redact raised {error}, so they were withheld")


def _thin_turns(rows: list[dict[str, Any]], turns: list[dict[str, Any]]) -> None:
    """Remove the texts of turns whose sample lost its text."""
    thinned = {row["id"] for row in rows if TEXT_COLUMNS & thinned_columns(row)}
    for turn in turns:
        if turn["sample"] in thinned:
            for column in TURN_TEXT_COLUMNS & turn.keys():
                del turn[column]
