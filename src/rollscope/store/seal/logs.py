"""Sealing: the complete logs of a run become Parquet sets.

The recorder starts a sealer as a process of its own with low priority; `rollscope compact` runs one
too. It never runs inside a training process. Any number of sealers may work on one run at once, on
any machines: there is no lock, and none of them can lose or double a row.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from rollscope.store import state
from rollscope.store.folder import Folder
from rollscope.store.live import table_block
from rollscope.store.live.metrics import Extent
from rollscope.store.live.tail import Tail
from rollscope.store.log import files
from rollscope.store.log.block import Table
from rollscope.store.log.scan import scan
from rollscope.store.numbers.rows import Words
from rollscope.store.sealed.select import accepted, listed

from . import streams
from .compact import compact
from .publish import clear_forgotten, write_set


def seal(run: str, force: bool = False) -> int:
    """Seal every log that will not grow any more; return how many were sealed.

    With `force`, also seal logs of writers that may still be alive on another machine.
    """
    clear_forgotten(run)
    done, complete = 0, _complete(run, force)
    declared = declared_ranges(run) if complete else {}
    for path in complete:
        with contextlib.suppress(FileNotFoundError):  # another sealer finished this one
            done += seal_log(run, path, declared)
    return done


def _complete(run: str, force: bool) -> list[str]:
    """Logs whose writer has started the next one, has closed it, or is gone."""
    logs: dict[str, list[tuple[int, str]]] = {}
    for name in files.listed(run):
        writer, seq, _ = name.split(".")
        logs.setdefault(writer, []).append((int(seq), os.path.join(run, name)))
    complete = []
    for of_writer in logs.values():
        *earlier, (_, last) = sorted(of_writer)
        complete += [path for _, path in earlier]
        if force or _is_over(last):
            complete.append(last)
    return sorted(complete)


def _is_over(path: str) -> bool:
    tail = Tail(path, Words())
    tail.refresh()
    return tail.closed or state.gone(tail)


def declared_ranges(run: str) -> dict[str, Any]:
    """The ranges that the run has declared so far; statistics inside groups depend on them.

    Reads the runs table of one log at a time, however large the logs are.
    """
    rows: list[dict[str, Any]] = []
    for sealed in accepted(listed(run), Words())[0]:
        table = sealed.table("runs")
        rows += table.to_pylist() if table is not None else []
    for name in files.listed(run):
        with contextlib.suppress(FileNotFoundError):  # another sealer finished this one
            rows += _run_rows(run, name)
    declared: dict[str, Any] = state.filled(Folder(run).facts(), state.in_order(rows)).get("declared") or {}
    return declared


def _run_rows(run: str, name: str) -> list[dict[str, Any]]:
    """The rows of the runs table in one log."""
    writer, seq, _ = name.split(".")
    blocks = scan(os.path.join(run, name)).blocks
    tables = [block for block in blocks if isinstance(block, Table) and block.table == "runs"]
    return [row for table in tables for row in table_block.table(table, writer, int(seq)).to_pylist()]


def seal_log(run: str, path: str, declared: dict[str, Any] | None = None) -> bool:
    """Turn one log into one set; False if the set exists already.

    The log is removed once the set has its name. A damaged log is kept for inspection.
    """
    tail = Tail(path, Words())
    tail.refresh()
    tables = {name: streams.of_log(name, tail.tables(name)) for name in tail.names()}
    facts: dict[str, Any] = {
        "sources": {tail.stem: tail.offset},
        "writers": {tail.stem: {**tail.facts, "closed": tail.closed}},
        "extent": _extent(tail.metrics.extent),
        "declared": declared or {},
        "damage": [[os.path.basename(d.path), d.offset, d.length, d.says] for d in tail.damage],
    }
    done = write_set(run, tail.stem, tail.metrics.batches(streams.METRIC_ROWS), tail.metrics.words, tables, facts)
    if not tail.damage and os.path.getsize(path) == tail.offset:
        os.unlink(path)
    return done


def _extent(extent: Extent) -> dict[str, Any]:
    first = {str(attempt): step for attempt, step in extent.first.items()}
    return {"first": first, "last_step": extent.last_step, "lo_ns": extent.lo_ns, "hi_ns": extent.hi_ns}


def main(argv: list[str]) -> int:
    os.nice(10)
    for run in argv:
        seal(run)
        compact(run, everything=not files.listed(run))  # a run that is over gets as few sets as possible
    return 0
