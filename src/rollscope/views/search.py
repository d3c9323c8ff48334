"""Samples that contain a phrase: the steps in batches, newest first, each searched in one pass over the columns of text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow, tables
from rollscope.store.sample_rows import read

FIRST, MOST = 500, 4000  # samples of the first batch, so that hits come at once, and of the largest
AROUND = 60  # characters of a hit's surroundings
TEXTS = ("completion", "prompt", "messages", "answer", "error")
TURN_TEXTS = ("content", "arguments", "result")


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


def batches(run: Any) -> tuple[list[tuple[list[int], int]], int]:
    """Steps to search together with how many samples they have, newest first, and how many samples there are."""
    counts = pc.value_counts(run.samples(columns=["step"], as_arrow=True)["step"].drop_null())
    steps, sizes = counts.field("values").to_numpy(zero_copy_only=False), counts.field("counts").to_numpy(zero_copy_only=False)
    order = np.argsort(-steps)
    plan: list[tuple[list[int], int]] = []
    most = FIRST
    for step, size in zip(steps[order].tolist(), sizes[order].tolist(), strict=True):
        if plan and plan[-1][1] + size <= most:
            plan[-1] = ([*plan[-1][0], step], plan[-1][1] + size)
        else:
            most = min(MOST, 2 * most) if plan else FIRST
            plan.append(([step], size))
    return plan, int(sizes.sum())


def in_batch(run: Any, steps: Sequence[int], text: str, case: bool = False, most: int = 10_000) -> list[Hit]:
    rows = read(run.folder, ["group", "task", "reward", *TEXTS], steps)
    rows = rows.filter(_fits(rows, TEXTS, text, case)).sort_by([("step", "descending")]).slice(0, most)
    found = arrow.numpy(rows, tables.types("samples"), parse=False)
    return [_hit({name: values[i] for name, values in found.items()}, text, case) for i in range(len(rows))]


def in_turns(run: Any, text: str, case: bool = False) -> list[Hit]:
    """Samples of which a turn contains it."""
    rows = tables.turns(run.folder, None)
    found = arrow.numpy(rows.filter(_fits(rows, TURN_TEXTS, text, case)), tables.types("turns"))
    turns: dict[str, dict[str, Any]] = {}
    for i, sample in enumerate(found["sample"]):
        turns.setdefault(sample, {name: found[name][i] for name in (*TURN_TEXTS, "role", "tool")})
    if not turns:
        return []
    about = run.samples(ids=list(turns), columns=["id", "step", "group", "task", "reward"])
    rows_ = [{name: values[i] for name, values in about.items()} | turns[about["id"][i]] for i in range(len(about["id"]))]
    return sorted((_hit(row, text, case, TURN_TEXTS) for row in rows_), key=lambda hit: -(hit.step or 0))


def _fits(rows: pa.Table, columns: Sequence[str], text: str, case: bool) -> pa.ChunkedArray:
    escaped = arrow.strings([text])[0][0].as_py()  # a lone surrogate stands escaped in the store
    keep: Any = pa.chunked_array([np.zeros(len(rows), bool)])
    for name in columns:
        if name in rows.column_names and rows[name].null_count < len(rows):
            wanted = _as_json(escaped) if name == "messages" else escaped
            keep = pc.or_(keep, pc.fill_null(pc.match_substring(rows[name], wanted, ignore_case=not case), False))
    return keep


def _as_json(text: str) -> str:
    """As it stands inside the messages, which are kept as JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _hit(row: dict[str, Any], text: str, case: bool, columns: Sequence[str] = TEXTS) -> Hit:
    pattern = re.compile(re.escape(text), 0 if case else re.IGNORECASE)
    for name in columns:
        found = pattern.search(row.get(name) or "")
        if found:
            break
    said = row.get(name) or ""
    lo, hi = found.span() if found else (0, 0)
    where = row["tool"] or row["role"] or name if "role" in row else name
    step, reward = row["step"], row["reward"]
    return Hit(
        row["id"], None if step is None or step != step else int(step), row["group"] or row["task"] or row["id"], None if reward is None or reward != reward else float(reward), str(where),
        _flat(said[max(0, lo - AROUND) : lo]), said[lo:hi], _flat(said[hi : hi + AROUND]),
    )  # fmt: skip


def _flat(text: str) -> str:
    return re.sub(r"[\n\t]+", " ", text)
