"""What happens to samples between the call and the store: rows are made, text is redacted, budgets are kept, prompts remember how they went."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from rollscope.record.loss import Losses
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS, TURN_TEXT_COLUMNS

from .budget import Budget
from .sample_rows import Intake

SPOKEN = {"notes": {"text", "data"}, "evals": {"answer"}, "spans": {"data"}}


class Keeper:
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
        self._intake = Intake(lambda: f"{writer[:8]}-{next(self._numbers)}", self._say_odd, redact, self._withheld)

    def rows(
        self, samples: list[dict[Any, Any]], step: int | None, time_ns: int, same: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        for key, value in same.items():
            for sample in samples:
                if sample.get(key) is None:
                    sample[key] = value
        rows, turns = self._intake.rows(samples, step, time_ns)
        for budget, what in ((self._text, "sample texts"), (self._tokens, "token arrays")):
            lost = budget.apply(rows)
            if lost:
                self._losses.count(what, f"thinned by {budget.said}", lost)
        thinned = (
            {row["id"] for row in rows if TEXT_COLUMNS & set(row.get("extra", {}).get("thinned", ()))}
            if turns
            else set()
        )
        for turn in turns:
            if turn["sample"] in thinned:
                for column in TURN_TEXT_COLUMNS & turn.keys():
                    del turn[column]
        return rows, turns

    def redacted(self, table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows of other tables with their text redacted, where somebody asked for that."""
        columns = SPOKEN.get(table)
        if self._intake.redact is None or columns is None:
            return rows
        return [
            {key: self._intake.clean(value) if key in columns else value for key, value in row.items()} for row in rows
        ]

    def _say_odd(self, text: str) -> None:
        self._losses.say(text, key=text.split(" should be ")[0])

    def _withheld(self, error: str) -> None:
        self._losses.count("texts", f"redact raised {error}, so they were withheld")
