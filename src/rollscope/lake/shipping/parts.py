"""Which rows of a run the lake lacks.

Rows are shipped in parts. A part covers bytes of logs: the growth of one log, or everything that a
sealed set holds. A set whose bytes the lake has already adds nothing. If it has only some of them,
because the log was sealed before its last rows were shipped, the set is shipped and the parts that
it overlaps are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rollscope.lake.ledger import Ranges
from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.log import files
from rollscope.store.numbers import fold
from rollscope.store.numbers.rows import Words
from rollscope.store.schema import TABLES
from rollscope.store.sealed import metric_table
from rollscope.store.sealed.reader import SealedSet
from rollscope.store.sealed.select import full_table
from rollscope.store.tables import sample_rows

Parts = Mapping[int, Ranges]
LOOSE = ""  # the stem of a part that covers no log


@dataclass(frozen=True, slots=True)
class Part:
    """Rows to ship, by table, and the bytes of logs that they cover."""

    ranges: Ranges
    tables: dict[str, pa.Table]


def ranges_of(sealed: SealedSet) -> Ranges:
    """The bytes of logs that a set holds."""
    return sorted((*_split(name), end) for name, end in sealed.sources.items())


def _split(name: str) -> tuple[str, int]:
    stem, _, start = name.partition("@")
    return stem, int(start or 0)


def covered_to(parts: Parts, stem: str, lo: int) -> int:
    """How far parts cover a log, without a gap, from a byte on."""
    for _, start, end in sorted(stretch for ranges in parts.values() for stretch in ranges if stretch[0] == stem):
        if start <= lo < end:
            lo = end
    return lo


def overlapping(parts: Parts, ranges: Ranges) -> set[int]:
    """The parts that share a byte with these stretches."""
    return {number for number, theirs in parts.items() if any(_share(a, b) for a in theirs for b in ranges)}


def _share(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def lacking_set(folder: Folder, parts: Parts) -> SealedSet | None:
    """A sealed set of the run that parts do not cover."""
    for sealed in folder.sets:
        if not all(covered_to(parts, stem, lo) >= hi for stem, lo, hi in ranges_of(sealed)):
            return sealed
    return None


def of_set(sealed: SealedSet) -> Part:
    """Everything a set holds."""
    names = {name.split(".")[0] for name in sealed.files} & (TABLES.keys() - {"runs"})
    tables = {name: _of_set(sealed, name) for name in sorted(names)}
    return Part(ranges_of(sealed), tables)


def _of_set(sealed: SealedSet, name: str) -> pa.Table:
    if name == "metrics":
        return arrow.conformed(sealed.files["metrics.parquet"].read(), TABLES["metrics"])
    return full_table(sealed, name)


def of_log(run: str, name: str, start: int) -> Part | None:
    """The rows of a log from a byte on; None if there are none yet."""
    words = Words()
    tail = Tail(os.path.join(run, name), words, start)
    tail.refresh()
    if tail.offset <= start:
        return None
    names = [table for table in tail.names() if table in TABLES and table != "runs"]
    tables = {name: _of_tail(tail, name) for name in names}
    metrics = metric_table.table(tail.metrics.everything(), words, os.path.basename(os.path.normpath(run)))
    known = {table: rows for table, rows in {**tables, "metrics": metrics}.items() if len(rows)}
    return Part([(tail.stem, start, tail.offset)], known)


def _of_tail(tail: Tail, name: str) -> pa.Table:
    return fold.join([tail.rows(part) for part in tail.parts(name)], arrow.schema(TABLES[name]))


def of_logs(run: str, folder: Folder, parts: Parts) -> list[Part]:
    """The growth of every log of a run."""
    found = []
    for name in files.listed(run):
        if name in folder.tails:  # else all of it is sealed
            start = covered_to(parts, files.stem(name), folder.tails[name].start)
            part = of_log(run, name, start)
            found += [part] if part is not None else []
    return found


def complete(folder: Folder, part: Part) -> tuple[Part, list[str]]:
    """The part with every sample whole, and the ids whose rows in earlier parts count no more.

    A sample that has rows in several places is shipped as the run shows it now.
    """
    samples = part.tables.get("samples")
    if samples is None:
        return part, []
    here = set(samples["id"].to_pylist())
    ids = [id for id in sample_rows.repeated_ids(folder) if id in here]
    if not ids:
        return part, []
    once = samples.filter(pc.invert(pc.is_in(samples["id"], pa.array(ids, pa.large_string()))))
    whole = pa.concat_tables([arrow.conformed(once, TABLES["samples"]), _whole(folder, ids)])
    return Part(part.ranges, {**part.tables, "samples": whole}), ids


def loose(folder: Folder) -> tuple[Part, list[str]]:
    """The samples that have rows in several places, as the run shows them now.

    After a resume the attempts that count differ, and with them what those samples are.
    """
    ids = sample_rows.repeated_ids(folder)
    return Part([(LOOSE, 0, 0)], {"samples": _whole(folder, ids)} if ids else {}), ids


def loose_parts(parts: Parts) -> set[int]:
    return {number for number, ranges in parts.items() if (LOOSE, 0, 0) in ranges}


def _whole(folder: Folder, ids: list[str]) -> pa.Table:
    return arrow.conformed(sample_rows.read(folder, ids=ids), TABLES["samples"])


def numbered(rows: pa.Table, table: str, project: str, run: str, part: int) -> pa.Table:
    """Rows as the lake keeps them: with project, run and part before their own columns."""
    rows = arrow.conformed(rows, TABLES[table])
    kept = rows.drop_columns([name for name in ("project", "run") if name in rows.column_names])
    texts = [pa.repeat(pa.scalar(text, pa.large_string()), len(rows)) for text in (project, run)]
    arrays = [*texts, pa.repeat(pa.scalar(part, pa.int64()), len(rows)), *kept.columns]
    return pa.table(arrays, names=["project", "run", "part", *kept.column_names])
