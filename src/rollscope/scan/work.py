"""Scan a run: every block that is left, each tried three times, results written as they come."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rollscope.errors import BadInput
from rollscope.store.notes import write_rows
from rollscope.store.run import Run

from .blocks import blocks
from .here import on_processes
from .job import Block, Job, Outcome, Row
from .on_ray import on_ray
from .one_block import scan_block
from .scanner import Scanner, code_of

TRIES = 3
ROWS_AT_ONCE = 20_000  # that one file of the run gets
Progress = Callable[[int, int], None]  # samples scanned, and samples in all
Write = Callable[[list[Row]], None]  # keeps rows of the table `scans`


@dataclass(slots=True)
class Scan:
    """What a scan did. Blocks are counted by what they consist of: samples, or steps."""

    run: str
    samples: int = 0
    rows: int = 0
    failed: int = 0  # of blocks that failed every time
    why: Counter[str] = field(default_factory=Counter)  # reason -> blocks that failed with it


@dataclass(frozen=True, slots=True)
class Places:
    """Where blocks run: processes of this machine, or Ray at an address."""

    workers: int = 1
    ray: str = ""

    def run(self, job: Job, left: list[Block]) -> Iterator[Outcome]:
        return on_ray(job, left, self.ray) if self.ray else on_processes(job, left, self.workers)


def scan(
    run: Run,
    source: str,
    file: str,
    loaded: dict[str, Scanner],
    places: Places,
    again: bool = False,
    progress: Progress = lambda done, total: None,
    write: Write | None = None,
) -> Scan:
    """Run the scanners of a file over the samples of a run that they have not seen."""
    left = blocks(run, [*loaded], code_of(source), again)
    return worked(run, Job(scan_block, (run.path, source, file, tuple(loaded))), left, places, progress, write)


def worked(
    run: Run, job: Job, left: Sequence[Block], places: Places, progress: Progress, write: Write | None = None
) -> Scan:
    """Do the work of all blocks, and keep their rows as they come: in the folder, or by `write`."""
    write = write or functools.partial(write_rows, run.path, "scans")
    scan, held, total = Scan(run.id), list[Row](), sum(map(len, left))
    progress(0, total)
    for block, outcome in _tried(job, list(left), places):
        if isinstance(outcome, Exception):
            scan.failed += len(block)
            scan.why[reason(outcome)] += 1
        else:
            scan.samples += len(block)
            held = _written(write, scan, held + outcome, ROWS_AT_ONCE)
        progress(scan.samples + scan.failed, total)
    _written(write, scan, held, 1)
    return scan


def reason(error: Exception) -> str:
    """One line about a failure; our own sentences as they are."""
    says = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
    return says.strip().splitlines()[0][:300]


def _tried(job: Job, left: list[Block], places: Places) -> Iterator[Outcome]:
    """Outcomes of all blocks. One that fails is tried again after the others."""
    for last in (*[False] * (TRIES - 1), True):
        failed: list[Block] = []
        for block, outcome in places.run(job, left):
            if isinstance(outcome, Exception) and not last and not isinstance(outcome, BadInput):
                failed.append(block)
            else:
                yield block, outcome
        left = failed


def _written(write: Write, scan: Scan, rows: list[Row], least: int) -> list[Row]:
    """Write rows if there are enough of them; return those that wait."""
    if len(rows) < least:
        return rows
    write(rows)
    scan.rows += len(rows)
    return []
