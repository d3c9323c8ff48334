"""Samples that contain a phrase, newest first, each with the words around it and what it got: the store's search, and the turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow, tables
from rollscope.store.search import TEXTS, batches

AROUND = 60  # characters of a hit's surroundings
TURN_TEXTS = ("content", "arguments", "result")
ABOUT = ("id", "step", "group", "task", "reward")


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


def in_samples(run: Any, text: str, case: bool = False) -> Iterator[list[tuple[str, str, str]]]:
    """Stretch by stretch of the run: id, column and snippet of each sample that fits. A stretch without any is an empty list."""
    for hits in batches(run.folder, text, TEXTS, not case):
        yield [(hit.id, hit.column, hit.snippet) for hit in hits]


def told(run: Any, found: Sequence[tuple[str, str, str]], text: str, case: bool) -> list[Hit]:
    """What is to be said of some of them, in their order."""
    about = _about(run, [id for id, _, _ in found])
    return [_hit(about[id], where, snippet, text, case) for id, where, snippet in found if id in about]


def in_turns(run: Any, text: str, case: bool = False) -> list[Hit]:
    """Samples of which a turn contains it."""
    rows = tables.turns(run.folder, None)
    found = arrow.numpy(rows.filter(_fits(rows, text, case)), tables.types("turns"))
    turns: dict[str, tuple[str, str]] = {}
    for i, sample in enumerate(found["sample"]):
        said = next((found[name][i] for name in TURN_TEXTS if _pattern(text, case).search(found[name][i] or "")), "")
        turns.setdefault(sample, (found["tool"][i] or found["role"][i] or "turn", said))
    about = _about(run, list(turns)) if turns else {}
    hits = [_hit(row, *turns[id], text, case) for id, row in about.items()]
    return sorted(hits, key=lambda hit: -(hit.step or 0))


def _about(run: Any, ids: list[str]) -> dict[str, dict[str, Any]]:
    columns = run.samples(ids=ids, columns=ABOUT)
    return {columns["id"][i]: {name: columns[name][i] for name in ABOUT} for i in range(len(columns["id"]))}


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
    return Hit(
        row["id"], None if step is None or step != step else int(step), row["group"] or row["task"] or row["id"], None if reward is None or reward != reward else float(reward), where,
        _flat(said[max(0, lo - AROUND) : lo]), said[lo:hi], _flat(said[hi : hi + AROUND]),
    )  # fmt: skip


def _flat(text: str) -> str:
    return re.sub(r"[\n\t]+", " ", text)
