"""One span with what it waited for and what it delayed; spans by a word; sums of a stretch."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import NotFound
from rollscope.store.run import Run

from .picture import Lanes, lanes_of
from .rows import NONE, Ints, Rows
from .segments import segments

NEAR = 20_000  # spans before and after among which links are looked for
MOST_LINKS = 12
MOST_FOUND = 200


def span_of(run: Run, key: str) -> dict[str, Any]:
    """A span by its key, with its causes and its effects."""
    lanes = lanes_of(run)
    i = _index(lanes, key)
    lo = max(0, i - NEAR)
    near = lanes.full(np.arange(lo, min(len(lanes.rows), i + NEAR)))
    at, keys = i - lo, near.keys()
    own = set(near.causes_of(at))
    effects = _effects(near, at, key)
    causes = [j for j, other in enumerate(keys) if other in own]
    before, after = _same_sample(near, at)
    return {
        **_brief(near, at, lanes.origin),
        "step": _known(near.step[at]),
        "version": _known(near.version[at]),
        "queued_s": _queued(near, at),
        "causes": [_brief(near, j, lanes.origin) for j in dict.fromkeys([*causes, *before])][:MOST_LINKS],
        "effects": [_brief(near, j, lanes.origin) for j in dict.fromkeys([*effects, *after])][:MOST_LINKS],
    }


def _effects(near: Rows, at: int, key: str) -> list[int]:
    """The spans that name a span as their cause; those of its own writer by its id alone, too."""
    whole, own, writer = f'"{key}"', f'"{key.rpartition(":")[2]}"', near.writer[at]
    told = ((j, causes) for j, causes in enumerate(near.causes) if causes is not None)
    return [j for j, causes in told if whole in causes or (own in causes and near.writer[j] == writer)]


def key_of(run: Run, row: int) -> str:
    """The key of a span by its row in a picture."""
    lanes = lanes_of(run)
    if row >= len(lanes.rows):
        says = f"no span {row} in this run, which has {len(lanes.rows)}; the picture may be older than the run"
        raise NotFound(says)
    return lanes.rows.only(np.array([row])).keys()[0]


def _index(lanes: Lanes, key: str) -> int:
    writer, _, id = key.rpartition(":")
    if id.isdecimal() and int(id) < 2**63:
        writers = [code for code, word in enumerate(lanes.rows.writers) if word == writer]
        found = np.flatnonzero((lanes.rows.id == int(id)) & np.isin(lanes.rows.writer, writers))
        if len(found):
            return int(found[0])
    raise NotFound(f"no span {key[:80]!r} in this run. Its key is `writer:id` of the table spans")


def _places(which: pa.ChunkedArray) -> Ints:
    """The numbers of spans that are marked in the table."""
    return np.flatnonzero(np.asarray(pc.fill_null(which, False)))


def _same_sample(rows: Rows, at: int) -> tuple[list[int], list[int]]:
    """The spans of the same sample just before and just after."""
    if rows.sample[at] == NONE:
        return [], []
    own = np.flatnonzero(rows.sample == rows.sample[at])
    before, after = own[rows.end[own] <= rows.start[at]], own[rows.start[own] >= rows.end[at]]
    return [j for j in before[-1:].tolist() if j != at], [j for j in after[:1].tolist() if j != at]


def _brief(rows: Rows, i: int, origin: int) -> dict[str, Any]:
    code = int(rows.sample[i])
    return {
        "key": f"{rows.writers[rows.writer[i]]}:{rows.id[i]}",
        "name": rows.names[rows.name[i]],
        "lane": rows.lanes[rows.lane[i]],
        "kind": "wait" if rows.wait[i] else "work",
        "sample": None if code == NONE else rows.samples[code],
        "start_s": (int(rows.start[i]) - origin) / 1e9,
        "seconds": (int(rows.end[i]) - int(rows.start[i])) / 1e9,
    }


def _known(value: Any) -> int | None:
    return None if value == NONE else int(value)


def _queued(rows: Rows, i: int) -> float | None:
    return None if rows.queued[i] == NONE else max(0, int(rows.start[i]) - int(rows.queued[i])) / 1e9


def find(run: Run, text: str) -> list[dict[str, Any]]:
    """Spans of a sample, of a task's samples, or with a word in their name, in time order."""
    lanes = lanes_of(run)
    places = _of_samples(run, lanes, text)
    if not len(places):
        word = text.lower()
        names = [code for code, name in enumerate(lanes.rows.names) if word in name.lower()]
        places = np.flatnonzero(np.isin(lanes.rows.name, names))
    found = lanes.full(places[:MOST_FOUND])
    return [_brief(found, i, lanes.origin) for i in range(len(found))]


def _of_samples(run: Run, lanes: Lanes, text: str) -> Ints:
    """The spans of a sample or of a group, else of the samples of a task."""
    sample = lanes.table["sample"]
    own = _places(pc.or_(pc.equal(sample, text), pc.starts_with(sample, f"{text}.")))
    if len(own) or sample.null_count == len(sample) or not run.has("samples"):
        return own
    ids = run.samples(where="task = '" + text.replace("'", "''") + "'", columns=["id"], limit=10_000)["id"]
    return _places(pc.is_in(sample, pa.array(ids.tolist(), sample.type)))


def sums(run: Run, lo: int, hi: int) -> dict[str, Any]:
    """Seconds by name and by unit within a stretch of time, inner spans counted once."""
    lanes = lanes_of(run)
    rows = lanes.rows.only(lanes.within(lo, hi))
    cut = segments(rows)
    seconds = np.clip(np.minimum(cut.end, hi) - np.maximum(cut.start, lo), 0, None) / 1e9
    units = rows.units()
    names: dict[str, float] = defaultdict(float)
    by_unit: dict[str, dict[str, float]] = defaultdict(lambda: {"busy": 0.0, "waiting": 0.0})
    for span, part in zip(cut.span.tolist(), seconds.tolist(), strict=True):
        names[rows.names[rows.name[span]]] += part
        by_unit[units[rows.lane[span]]]["waiting" if rows.wait[span] else "busy"] += part
    ranked = sorted(names.items(), key=lambda item: -item[1])
    return {
        "spans": len(rows),
        "seconds": (hi - lo) / 1e9,
        "names": [{"name": name, "seconds": part} for name, part in ranked[:MOST_LINKS]],
        "units": [{"unit": unit, **parts} for unit, parts in sorted(by_unit.items())],
    }
