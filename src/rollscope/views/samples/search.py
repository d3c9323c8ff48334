"""Samples that contain a phrase, newest first, each with the words around it and what it got: the store's search, and the turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow
from rollscope.store.tables import tables

from . import rollouts
from .filter_words import COLUMNS, Word, fits, words

AROUND = 60  # characters of a hit's surroundings
TURN_TEXTS = ("content", "arguments", "result")
ABOUT = ("id", "step", "group", "task", "reward", "score", "split")


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    step: int | None
    group: str
    reward: float | None
    where: str
    before: str
    match: str
    after: str


class Narrow:
    """Which of the samples with the phrase are meant: filter words, and a fate."""

    def __init__(self, query: str = "", fate: str = "") -> None:
        self.words: list[Word] = words(query)
        self.fate = fate
        self.columns = COLUMNS if self.words or fate else ABOUT
        self._gini: dict[int, dict[str, float]] = {}

    def __bool__(self) -> bool:
        return bool(self.words or self.fate)

    def keep(self, run: Any, rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if not self:
            return rows
        return {
            id: row for id, row in rows.items() if fits(row, self.words, self.fate, lambda row: self._gini_of(run, row))
        }

    def _gini_of(self, run: Any, row: Mapping[str, Any]) -> float:
        """Of the sample's group at its step; a step is looked at once."""
        step = row["step"]
        if step is None or step != step:
            return float("nan")
        if int(step) not in self._gini:
            found = rollouts.of_step(run, int(step))
            self._gini[int(step)] = dict(zip(found.groups, found.gini.tolist(), strict=True))
        return self._gini[int(step)].get(row["group"] or row["task"] or row["id"], float("nan"))


def in_samples(run: Any, text: str, case: bool = False) -> Iterator[list[tuple[str, str, str]]]:
    """Stretch by stretch of the run: id, column and snippet of each sample that fits. A stretch without any is an empty list."""
    for hits in run.search_batches(text, ignore_case=not case):
        yield [(hit.id, hit.column, hit.snippet) for hit in hits]


def told(run: Any, found: Sequence[tuple[str, str, str]], text: str, case: bool, narrow: Narrow) -> list[Hit]:
    """What is to be said of those of them that are meant, in their order."""
    about = _about(run, [id for id, _, _ in found], narrow)
    return [_hit(about[id], where, snippet, text, case) for id, where, snippet in found if id in about]


def in_turns(run: Any, text: str, case: bool, narrow: Narrow) -> list[Hit]:
    """Samples of which a turn contains it."""
    rows = run.turns(as_arrow=True)
    found = arrow.numpy(rows.filter(_fits(rows, text, case)), tables.types("turns"))
    turns: dict[str, tuple[str, str]] = {}
    for i, sample in enumerate(found["sample"]):
        said = next((found[name][i] for name in TURN_TEXTS if _pattern(text, case).search(found[name][i] or "")), "")
        turns.setdefault(sample, (found["tool"][i] or found["role"][i] or "turn", said))
    about = _about(run, list(turns), narrow) if turns else {}
    hits = [_hit(row, *turns[id], text, case) for id, row in about.items()]
    return sorted(hits, key=lambda hit: -(hit.step or 0))


def _about(run: Any, ids: list[str], narrow: Narrow) -> dict[str, dict[str, Any]]:
    columns = run.samples(ids=ids, columns=narrow.columns)
    return narrow.keep(
        run, {columns["id"][i]: {name: columns[name][i] for name in narrow.columns} for i in range(len(columns["id"]))}
    )


def _pattern(text: str, case: bool) -> re.Pattern[str]:
    return re.compile(re.escape(text), 0 if case else re.IGNORECASE)


def _fits(rows: pa.Table, text: str, case: bool) -> pa.ChunkedArray:
    stored = arrow.strings([text])[0][0].as_py()  # a lone surrogate stands escaped in the store
    keep: Any = pa.chunked_array([np.zeros(len(rows), bool)])
    for name in TURN_TEXTS:
        keep = pc.or_(keep, pc.fill_null(pc.match_substring(rows[name], stored, ignore_case=not case), False))
    return keep


def _hit(row: dict[str, Any], where: str, said: str, text: str, case: bool) -> Hit:
    found = _pattern(text, case).search(said)
    lo, hi = found.span() if found else (0, 0)
    step, reward = row["step"], row["reward"]
    if row["split"] == "eval" and (reward is None or reward != reward):
        reward = row["score"]  # an evaluation gives no reward
    return Hit(
        row["id"], None if step is None or step != step else int(step), row["group"] or row["task"] or row["id"], None if reward is None or reward != reward else float(reward), where,
        _flat(said[max(0, lo - AROUND) : lo]), said[lo:hi], _flat(said[hi : hi + AROUND]),
    )  # fmt: skip


def _flat(text: str) -> str:
    return re.sub(r"[\n\t]+", " ", text)
