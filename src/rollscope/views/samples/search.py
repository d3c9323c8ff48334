"""Samples that contain a phrase, newest first, each with the words around it and its reward.

The store searches the samples' own texts; turns are searched here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow
from rollscope.store.project.sample_marks import SampleMarks
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.views import nullable

from .filter_words import COLUMNS, Word, fate_of, fits, words
from .groups import group_name
from .rollouts import rollouts
from .scans import scans_by_sample

AROUND = 60  # characters before and after the phrase
TURN_TEXTS = ("content", "arguments", "result")
PLAIN_COLUMNS = (
    "id",
    "step",
    "group",
    "task",
    "reward",
    "score",
    "split",
    "trained",
    "discard_reason",
)  # enough without filters
Occurrence = tuple[str, str, str]  # sample id, column, and the text around the phrase
Row = dict[str, Any]
NOBODY: Mapping[str, SampleMarks] = {}  # no sample has a mark


@dataclass(frozen=True, slots=True)
class Hit:
    """A sample with the phrase: where it is, and the words around it."""

    id: str
    step: int | None
    group: str
    fate: str
    reward: float | None
    where: str
    before: str
    match: str
    after: str


class Phrase:
    """The phrase to look for."""

    def __init__(self, text: str, case: bool = False) -> None:
        self.text, self.case = text, case
        self._pattern = re.compile(re.escape(text), 0 if case else re.IGNORECASE)

    def find(self, text: str | None) -> re.Match[str] | None:
        return self._pattern.search(text or "")

    def in_columns(self, rows: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
        """Which rows contain the phrase in one of these columns."""
        stored = arrow.strings([self.text])[0][0].as_py()  # the store escapes a lone surrogate
        hits: Any = pa.chunked_array([np.zeros(len(rows), bool)])
        for name in columns:
            contains = pc.match_substring(rows[name], stored, ignore_case=not self.case)
            hits = pc.or_(hits, pc.fill_null(contains, False))
        return hits


class Narrow:
    """Filter words and a fate that narrow a search."""

    def __init__(self, query: str = "", fate: str = "", marks: Mapping[str, SampleMarks] = NOBODY) -> None:
        self.words: list[Word] = words(query)
        self.fate, self.marks = fate, marks
        self.columns = COLUMNS if self.words or fate else PLAIN_COLUMNS
        self._gini: dict[int, dict[str, float]] = {}  # step -> group -> Gini

    def __bool__(self) -> bool:
        return bool(self.words or self.fate)

    def rows(self, run: Run, ids: Sequence[str]) -> dict[str, Row]:
        """Sample id -> its columns, for the samples that pass."""
        columns = run.samples(ids=ids, columns=self.columns)
        ids = columns["id"]
        scans = scans_by_sample(run) if self.words else {}
        rows = (
            {
                **{name: columns[name][i] for name in self.columns},
                "marks": self.marks.get(ids[i]),
                "scans": scans.get(ids[i]),
            }
            for i in range(len(ids))
        )
        return {row["id"]: row for row in rows if not self or self._passes(run, row)}

    def _passes(self, run: Run, row: Row) -> bool:
        return fits(row, self.words, self.fate, lambda row: self._gini_of(run, row))

    def _gini_of(self, run: Run, row: Mapping[str, Any]) -> float:
        """The Gini of the sample's group at its step. Each step is read once."""
        step = nullable.integer(row["step"])
        if step is None:
            return float("nan")
        if step not in self._gini:
            table = rollouts(run, step)
            self._gini[step] = dict(zip(table.groups, table.gini.tolist(), strict=True))
        return self._gini[step].get(group_name(row["group"], row["task"], row["id"]), float("nan"))


def occurrences(run: Run, phrase: Phrase) -> Iterator[list[Occurrence]]:
    """Where the samples' own texts contain the phrase, in batches, some of them empty."""
    for hits in run.search_batches(phrase.text, ignore_case=not phrase.case):
        yield [(hit.id, hit.column, hit.snippet) for hit in hits]


def hits_at(run: Run, batch: Sequence[Occurrence], phrase: Phrase, narrow: Narrow) -> list[Hit]:
    """The samples of these occurrences that pass, in this order."""
    rows = narrow.rows(run, [id for id, _, _ in batch])
    return [_hit(rows[id], where, snippet, phrase) for id, where, snippet in batch if id in rows]


def hits_in_turns(run: Run, phrase: Phrase, narrow: Narrow) -> list[Hit]:
    """Samples with the phrase in one of their turns, newest first."""
    table = run.turns(as_arrow=True)
    turns = arrow.numpy(table.filter(phrase.in_columns(table, TURN_TEXTS)), tables.types("turns"))
    first: dict[str, tuple[str, str]] = {}  # sample id -> where, and the text, of its first turn with the phrase
    for i, sample in enumerate(turns["sample"]):
        text = next((turns[name][i] for name in TURN_TEXTS if phrase.find(turns[name][i])), "")
        first.setdefault(sample, (turns["tool"][i] or turns["role"][i] or "turn", text))
    rows = narrow.rows(run, list(first)) if first else {}
    hits = [_hit(row, *first[id], phrase) for id, row in rows.items()]
    return sorted(hits, key=lambda hit: -(hit.step or 0))


def _hit(row: Row, where: str, text: str, phrase: Phrase) -> Hit:
    match = phrase.find(text)
    lo, hi = match.span() if match else (0, 0)
    return Hit(
        id=row["id"],
        step=nullable.integer(row["step"]),
        group=group_name(row["group"], row["task"], row["id"]),
        fate=fate_of(row),
        reward=_reward(row),
        where=where,
        before=_one_line(text[max(0, lo - AROUND) : lo]),
        match=text[lo:hi],
        after=_one_line(text[hi : hi + AROUND]),
    )


def _reward(row: Row) -> float | None:
    """The reward; an evaluation without one has its score."""
    value = row["score"] if row["split"] == "eval" and nullable.missing(row["reward"]) else row["reward"]
    return None if nullable.missing(value) else float(value)


def _one_line(text: str) -> str:
    return re.sub(r"[\n\t]+", " ", text)
