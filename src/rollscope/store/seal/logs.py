"""Sealing: complete logs of a run become Parquet, and many small sets one. `python -m rollscope.store.seal.logs RUN_DIR`

Run by the recorder as a process of its own with low priority, by `rollscope compact`, never inside a training process. Any number of
sealers may work on one run at once, on any machines: there is no lock, and none can lose or double a row.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from rollscope.store import state
from rollscope.store.folder import Folder
from rollscope.store.live import table_block
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
    """Seal every log that will not grow any more; how many were. With `force` also those of writers that cannot be seen to be gone."""
    clear_forgotten(run)
    done, complete = 0, _complete(run, force)
    declared = declared_ranges(run) if complete else {}
    for path in complete:
        with contextlib.suppress(FileNotFoundError):  # another sealer has finished this one
            done += seal_log(run, path, declared)
    return done


def _complete(run: str, force: bool) -> list[str]:
    """Logs whose writer has gone on to the next, has closed it, or is gone."""
    logs: dict[str, list[tuple[int, str]]] = {}
    for name in files.listed(run):
        writer, seq, _ = name.split(".")
        logs.setdefault(writer, []).append((int(seq), os.path.join(run, name)))
    found = []
    for of_writer in logs.values():
        *earlier, (_, last) = sorted(of_writer)
        found += [path for _, path in earlier]
        if force or _over(last):
            found.append(last)
    return sorted(found)


def _over(path: str) -> bool:
    tail = Tail(path, Words())
    tail.refresh()
    return tail.closed or state.gone(tail)


def declared_ranges(run: str) -> dict[str, Any]:
    """What the run has declared so far; statistics inside groups depend on it. Logs are looked through one by one, whatever else they hold."""
    rows: list[dict[str, Any]] = []
    for piece in accepted(listed(run), Words())[0]:
        found = piece.table("runs")
        rows += found.to_pylist() if found is not None else []
    for name in files.listed(run):
        writer, seq, _ = name.split(".")
        with contextlib.suppress(FileNotFoundError):  # another sealer has finished this one
            said = [
                block
                for block in scan(os.path.join(run, name)).blocks
                if isinstance(block, Table) and block.table == "runs"
            ]
            rows += [row for block in said for row in table_block.table(block, writer, int(seq)).to_pylist()]
    declared: dict[str, Any] = state.filled(Folder(run).facts(), state.in_order(rows)).get("declared") or {}
    return declared


def seal_log(run: str, path: str, declared: dict[str, Any] | None = None) -> bool:
    """One log becomes one set. The log is removed once the set has its name; a damaged log is kept for whoever wants to look."""
    tail = Tail(path, Words())
    tail.refresh()
    tables = {name: streams.of_log(name, tail.tables(name)) for name in tail.names()}
    extent = tail.metrics.extent
    facts: dict[str, Any] = {
        "sources": {tail.stem: tail.offset},
        "writers": {tail.stem: {**tail.facts, "closed": tail.closed}},
        "extent": {
            "first": {str(a): s for a, s in extent.first.items()},
            "last_step": extent.last_step,
            "lo_ns": extent.lo_ns,
            "hi_ns": extent.hi_ns,
        },
        "declared": declared or {},
        "damage": [[os.path.basename(d.path), d.offset, d.length, d.says] for d in tail.damage],
    }
    done = write_set(run, tail.stem, tail.metrics.batches(streams.METRIC_ROWS), tail.metrics.words, tables, facts)
    if not tail.damage and os.path.getsize(path) == tail.offset:
        os.unlink(path)
    return done


def main(argv: list[str]) -> int:
    os.nice(10)
    for run in argv:
        seal(run)
        compact(run, everything=not files.listed(run))  # a run that is over is left with as few sets as can be
    return 0
