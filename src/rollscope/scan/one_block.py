"""Scan one block of samples. It runs in a process of its own, here or on another machine."""

from __future__ import annotations

import functools
import os
import time
from typing import Any

from rollscope.lake import door
from rollscope.store.run import Run
from rollscope.views.nullable import cell

from .job import Block, Row
from .scanner import Scanner, code_of, results, scanners


def scan_block(run: str, source: str, file: str, names: tuple[str, ...], block: Block) -> list[Row]:
    """Rows of the table `scans` for a block of the run in a folder."""
    now, code = time.time_ns(), code_of(source)
    loaded = _scanners(source, file)
    rows: list[Row] = []
    for name in names:
        samples = _samples(_opened(run), loaded[name], block)
        for sample, given in zip(samples, results(loaded[name], samples), strict=True):
            about = {"sample": sample["id"], "step": sample["step"], "split": sample["split"], "time_ns": now}
            about |= {"attempt": sample["attempt"], "code": code}
            rows += [{**about, "name": part, **_column(value)} for part, value in given.items()]
    return rows


def _column(value: float | str | None) -> Row:
    return {} if value is None else {"label": value} if isinstance(value, str) else {"value": value}


def _samples(run: Run, scanner: Scanner, block: Block) -> list[dict[str, Any]]:
    columns = run.samples(ids=block, columns=scanner.needs)
    values = [[cell(value) for value in columns[name]] for name in scanner.needs]
    return [dict(zip(scanner.needs, row, strict=True)) for row in zip(*values, strict=True)]


@functools.lru_cache(maxsize=4)
def _scanners(source: str, file: str) -> dict[str, Scanner]:
    return scanners(source, file)


@functools.lru_cache(maxsize=4)
def _opened(run: str) -> Run:
    """The reader of a run. A process scans many blocks of it."""
    path = os.path.abspath(run)
    return door.open_for(os.path.dirname(path), None).run(os.path.basename(path))
