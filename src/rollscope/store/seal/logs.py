"""Sealing: the complete logs of a run become Parquet sets.

The recorder starts a sealer as a process of its own with low priority; `rollscope compact` runs one
too. It never runs inside a training process. Any number of sealers may work on one run at once, on
any machines: none of them can lose or double a row. A log is removed only when no writer can append
to it any more and the sets that stand in the folder hold all its bytes.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from rollscope.store import run_json, state
from rollscope.store.folder import Folder
from rollscope.store.live import table_block
from rollscope.store.live.metrics import Extent
from rollscope.store.live.tail import Tail
from rollscope.store.log import files, liveness
from rollscope.store.log.block import Table
from rollscope.store.log.lock import Lock, taking
from rollscope.store.log.scan import scan
from rollscope.store.numbers.rows import Words
from rollscope.store.sealed import coverage
from rollscope.store.sealed.select import accepted, listed

from . import streams
from .compact import compact
from .publish import clear_forgotten, write_set


def seal(run: str, force: bool = False) -> int:
    """Seal every log that will not grow any more; return how many were sealed.

    With `force`, also seal what is there of logs whose writers may still be alive. Those logs stay,
    and readers read on where the set ends.
    """
    clear_forgotten(run)
    done, chosen = 0, _chosen(run, force)
    ranges = declared_ranges(run) if chosen else {}
    for path in chosen:
        with contextlib.suppress(FileNotFoundError):  # another sealer finished this one
            done += seal_log(run, path, ranges)
    return done


def _chosen(run: str, force: bool) -> list[str]:
    """Logs whose writer has begun the next one, has closed it, or is gone; with `force`, all."""
    logs: dict[str, list[tuple[int, str]]] = {}
    for name in files.listed(run):
        writer, seq, _ = name.split(".")
        logs.setdefault(writer, []).append((int(seq), os.path.join(run, name)))
    chosen = []
    for of_writer in logs.values():
        *earlier, (_, last) = sorted(of_writer)
        chosen += [path for _, path in earlier]
        with contextlib.suppress(FileNotFoundError):
            if force or is_complete(last):
                chosen.append(last)
    return sorted(chosen)


def is_complete(path: str, lock: Lock | None = None) -> bool:
    """True if the log has its end, or its writer is proven to be gone."""
    tail = Tail(path, Words())
    tail.refresh()
    return tail.closed or liveness.is_over(path, tail.facts, lock)


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
    return run_json.usable_ranges(state.filled(Folder(run).facts(), state.in_order(rows)).get("declared"))


def _run_rows(run: str, name: str) -> list[dict[str, Any]]:
    """The rows of the runs table in one log."""
    writer, seq, _ = name.split(".")
    blocks = scan(os.path.join(run, name)).blocks
    tables = [block for block in blocks if isinstance(block, Table) and block.table == "runs"]
    return [row for table in tables for row in table_block.table(table, writer, int(seq)).to_pylist()]


def seal_log(run: str, path: str, ranges: dict[str, Any] | None = None) -> bool:
    """Turn what is not sealed of one log into a set; False if there was nothing to seal.

    The log is removed if it is complete and the standing sets hold all its bytes. Its lock is held
    meanwhile, so no writer can append between the look and the removal. A damaged log is kept for
    inspection.
    """
    with taking(path) as lock:
        tail = Tail(path, Words(), _covered(run, path))
        tail.refresh()
        is_new = tail.offset > tail.start and _write(run, tail, ranges or {})
        if not tail.damage and lock is not Lock.HELD and _may_go(run, path, lock):
            os.unlink(path)
    return is_new


def _covered(run: str, path: str) -> int:
    """How many bytes of a log the standing sets hold."""
    return coverage.covered(accepted(listed(run), Words())[0], files.stem(path))


def _may_go(run: str, path: str, lock: Lock) -> bool:
    """True if the sets hold every byte of a log and no writer can add one."""
    if _covered(run, path) < os.path.getsize(path) or _was_damaged(run, path):
        return False
    return _has_next(run, path) or is_complete(path, lock)


def _was_damaged(run: str, path: str) -> bool:
    """True if a sealer met something in this log that it could not read, now or earlier."""
    found = [damage for sealed in accepted(listed(run), Words())[0] for damage in sealed.facts["damage"]]
    return any(file == os.path.basename(path) for file, *_ in found)


def _has_next(run: str, path: str) -> bool:
    """True if the writer of this log has begun a later one."""
    writer, seq = files.stem(path).split(".")
    later = [name.split(".") for name in files.listed(run)]
    return any(name[0] == writer and int(name[1]) > int(seq) for name in later)


def _write(run: str, tail: Tail, ranges: dict[str, Any]) -> bool:
    """Write the set of a tail; False if another sealer has written one of that name."""
    name = coverage.name_of(tail.stem, tail.start)
    tables = {table: streams.of_log(table, [tail.rows(part) for part in tail.parts(table)]) for table in tail.names()}
    facts: dict[str, Any] = {
        "sources": {name: tail.offset},
        "writers": {name: {**_writer_facts(tail), "closed": tail.closed}},
        "extent": _extent(tail.metrics.extent),
        "declared": ranges,
        "damage": [[os.path.basename(d.path), d.offset, d.length, d.says] for d in tail.damage],
    }
    return write_set(run, name, tail.metrics.batches(streams.METRIC_ROWS), tail.metrics.words, tables, facts)


def _writer_facts(tail: Tail) -> dict[str, Any]:
    """The first block of a log: read again where the tail begins behind it."""
    if tail.start == 0:
        return tail.facts
    opening = Tail(tail.path, Words())
    opening.refresh()
    return opening.facts


def _extent(extent: Extent) -> dict[str, Any]:
    first = {str(attempt): step for attempt, step in extent.first.items()}
    return {"first": first, "last_step": extent.last_step, "lo_ns": extent.lo_ns, "hi_ns": extent.hi_ns}


def main(argv: list[str]) -> int:
    os.nice(10)
    for run in argv:
        seal(run)
        compact(run, everything=not files.listed(run))  # a run that is over gets as few sets as possible
    return 0
