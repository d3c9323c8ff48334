"""Spans of a run as columns for the timeline, sorted by start, with words as codes.

A lane is `part/number` or `part/number/slot`; its first two words are its unit: one process, with
slots that work side by side. A span whose clock went back has no length.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.views.time.spans import NO_LANE, RAY, is_elsewhere

from .phases import phase

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
NONE = -1
COLUMNS = (
    *("id", "name", "lane", "kind", "start_ns", "end_ns", "step", "sample", "writer", "version", "queued_ns"),
    *("causes", "attempt"),
)
BRIEF = ("lane", "name", "kind", "start_ns", "end_ns", "step", "writer", "id", "version")


@dataclass(slots=True)
class Rows:
    """Columns of equal length, and the words behind their codes; -1 is none."""

    start: Ints
    end: Ints
    lane: Ints
    name: Ints
    step: Ints
    wait: Mask
    sample: Ints
    version: Ints
    queued: Ints
    writer: Ints
    id: Ints
    causes: NDArray[Any]  # JSON text, or None
    lanes: list[str]
    names: list[str]
    samples: list[str]
    writers: list[str]

    def __len__(self) -> int:
        return len(self.start)

    def only(self, keep: Mask | Ints) -> Rows:
        columns: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        chosen: dict[str, Any] = {name: c if isinstance(c, list) else c[keep] for name, c in columns.items()}
        return Rows(**chosen)

    def between(self, lo: int, hi: int) -> Rows:
        """Spans that overlap a stretch of time; those without length count at its edges too."""
        last = int(np.searchsorted(self.start, hi, "right"))
        return self.only(np.flatnonzero(self.end[:last] >= lo))

    def units(self) -> list[str]:
        """The unit of each lane."""
        return ["/".join(lane.split("/")[:2]) for lane in self.lanes]

    def on_trainer(self) -> Mask:
        """Which spans are the trainer's: by the word `trainer`, else all that are not elsewhere.

        Where only Ray's workers have spans, those that train are the trainer's.
        """
        words = [lane.split("/")[0] for lane in self.lanes]
        named = any(word.startswith("trainer") for word in words)
        if words and all(word.startswith(RAY) for word in words):
            return self._that_train()
        flags = [word.startswith("trainer") if named else not is_elsewhere(word) for word in words]
        return np.array(flags or [False])[self.lane]

    def _that_train(self) -> Mask:
        """Which spans train, by their names; all if none does."""
        flags = np.array([phase(name) == "train" for name in self.names])[self.name]
        return flags if flags.any() else np.ones(len(self), bool)

    def is_detail(self) -> Mask:
        """Which spans are on slots of a unit that has spans of its own."""
        own = {self.lanes[code] for code in np.unique(self.lane).tolist() if self.lanes[code].count("/") == 1}
        units = self.units()
        flags = [lane.count("/") > 1 and unit in own for lane, unit in zip(self.lanes, units, strict=True)]
        return np.array(flags or [False])[self.lane]

    def keys(self) -> list[str]:
        """The key of each span in the whole run."""
        writers = [self.writers[code] for code in self.writer.tolist()]
        return [f"{writer}:{id}" for writer, id in zip(writers, self.id.tolist(), strict=True)]

    def has_causes(self) -> bool:
        """Does any span say what it waited for?"""
        return bool((self.causes != None).any())  # noqa: E711 - of each element

    def causes_of(self, i: int) -> list[str]:
        """The keys of a span's causes; a number alone is a span of the same writer."""
        text = self.causes[i]
        found = json.loads(text) if text else []
        own = self.writers[self.writer[i]] if found else ""
        keys = map(str, found) if isinstance(found, list) else ()
        return [key if ":" in key else f"{own}:{key}" for key in keys]


def read_rows(run: Run, steps: Sequence[int] | None = None) -> Rows:
    """All spans of a run that have times, or those of some steps."""
    return rows_of(read_table(run) if steps is None else _timed(run.rows_of_steps("spans", steps)))


def read_brief(run: Run, steps: Sequence[int] | None = None) -> Rows:
    """The same without samples, queues and causes, which is read many times faster."""
    table = _timed(run.coded("spans", BRIEF) if steps is None else run.rows_of_steps("spans", steps))
    return brief_of(table, start_order(table))


def read_table(run: Run) -> pa.Table:
    """All spans of a run that have times and count, in the order they were recorded."""
    return _timed(run.drop_abandoned(run.table("spans", COLUMNS, as_arrow=True)))


def _timed(table: pa.Table) -> pa.Table:
    if not table["start_ns"].null_count and not table["end_ns"].null_count:
        return table
    return table.filter(pc.and_(table["start_ns"].is_valid(), table["end_ns"].is_valid()))


def start_order(table: pa.Table) -> Ints:
    """The order of spans by their start."""
    start = np.asarray(table["start_ns"])
    if (np.diff(start) < 0).any():
        return np.argsort(start, kind="stable")
    return np.arange(len(start))


def brief_of(table: pa.Table, order: Ints) -> Rows:
    """Spans in an order, without what they worked on and what they waited for."""
    lane, lanes = _codes(table["lane"], NO_LANE)
    name, names = _codes(table["name"], "")
    kind, kinds = _codes(table["kind"], "")
    writer, writers = _codes(table["writer"], "")
    start = np.asarray(table["start_ns"])[order]
    none = np.broadcast_to(np.int64(NONE), len(order))
    return Rows(
        start=start,
        end=np.maximum(np.asarray(table["end_ns"])[order], start),
        lane=lane[order],
        name=name[order],
        step=_ints(table["step"])[order],
        wait=np.array([word == "wait" for word in kinds] or [False])[kind[order]],
        **dict.fromkeys(("sample", "queued"), none),
        version=_ints(table["version"])[order],
        writer=writer[order],
        id=_ints(table["id"])[order],
        causes=np.broadcast_to(np.array(None, object), len(order)),
        lanes=lanes,
        names=names,
        samples=[],
        writers=writers,
    )


def rows_of(table: pa.Table) -> Rows:
    """Spans with all that is known of them, sorted by start."""
    order = start_order(table)
    return filled(table.take(pa.array(order)) if (np.diff(order) < 0).any() else table)


def filled(table: pa.Table) -> Rows:
    """Spans with all that is known of them, in the order they come."""
    rows = brief_of(table, np.arange(len(table)))
    rows.sample, rows.samples = _codes(table["sample"], None)
    rows.queued = _ints(table["queued_ns"])
    rows.causes = _texts(table["causes"])
    return rows


def places(rows: Rows, wanted: Rows) -> Ints:
    """Where spans are among `rows`, by their keys; -1 for those that are not, or have no id."""
    found = np.full(len(wanted), NONE, np.int64)
    for code, writer in enumerate(wanted.writers):
        own = np.flatnonzero((wanted.writer == code) & (wanted.id != NONE))
        if not len(own) or writer not in rows.writers:
            continue
        theirs = np.flatnonzero(rows.writer == rows.writers.index(writer))
        theirs = theirs[np.argsort(rows.id[theirs], kind="stable")]
        at = np.minimum(np.searchsorted(rows.id[theirs], wanted.id[own]), len(theirs) - 1)
        found[own] = np.where(rows.id[theirs[at]] == wanted.id[own], theirs[at], NONE)
    return found


def _ints(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.fill_null(column, NONE))


def _texts(column: pa.ChunkedArray) -> NDArray[Any]:
    if column.null_count == len(column):
        return np.full(len(column), None, object)
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False))


def _codes(column: pa.ChunkedArray, default: str | None) -> tuple[Ints, list[str]]:
    """Words as indices into the list of distinct words; -1 for none where there is no default."""
    if column.null_count == len(column) and default is None:
        return np.full(len(column), NONE, np.int64), []
    is_coded = pa.types.is_dictionary(column.type)
    encoded = column.unify_dictionaries().combine_chunks() if is_coded else column.combine_chunks().dictionary_encode()
    codes = np.asarray(pc.fill_null(encoded.indices, NONE)).astype(np.int64)
    words = encoded.dictionary.to_pylist()
    if default is not None and encoded.null_count:
        codes[codes == NONE] = words.index(default) if default in words else len(words)
        words += [] if default in words else [default]
    return _used(codes, words)


def _used(codes: Ints, words: list[str]) -> tuple[Ints, list[str]]:
    """The same without words that no row has: a dictionary may be of more rows than these."""
    is_used = np.bincount(codes + 1, minlength=len(words) + 1)[1:] > 0
    if is_used.all():
        return codes, words
    number = np.append(np.cumsum(is_used) - 1, NONE)
    return number[codes], [word for word, used in zip(words, is_used.tolist(), strict=True) if used]
