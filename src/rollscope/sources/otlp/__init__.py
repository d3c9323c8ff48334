"""OpenTelemetry: files of a collector, and what `rollscope serve` receives over HTTP.

Spans become spans; those with `rl.*`, `gen_ai.*` or Agent-Lightning's attributes also samples and
turns. Metrics become numbers at the step they name, else readings of the machine; log records
become notes. Attributes without a place of their own are kept beside the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rollscope.sources import Item, Mark, Restart, RunStart, Since, Skipped
from rollscope.sources.files.offset import before
from rollscope.sources.jsonl import described, first, lines

from .batch import Batches, signal_of
from .looks import Look, Looks

NAMES = ("otlp", "opentelemetry")
ORDER = -1  # before every other kind of JSONL
MANY = 20_000  # rows between two marks
LOOKS = Looks()  # of the process that reads files


def recognises(path: Path) -> bool:
    """True for the file of a collector: a line is a batch."""
    return path.is_file() and path.suffix in (".jsonl", ".json", ".ndjson") and signal_of(first(path)) is not None


def rows(path: Path, since: Since) -> Iterator[Item]:
    """The batches of a file. What an earlier import took is read again if it is not known here."""
    size, ends = path.stat().st_size, {id: int(cursor["at"]) for id, cursor in since.items()}
    if _is_rewritten(path, since, size):
        for id in since:
            yield RunStart(id=id, kind=NAMES[0])
            yield Restart("the file was rewritten since the last import; it is read from the start")
        ends = {}
    if ends and min(ends.values()) == size:
        return
    look = LOOKS.taken(path, ends)
    at, told = look.at, max(ends.values(), default=0)
    batches = Batches(path, known=look.known, ends=ends)
    for offset, value, end in lines(path, at):
        if end is None:
            yield Skipped("the file ends in the middle of a line; it is imported once it is complete", path, offset)
            break
        at = end
        if (signal := signal_of(value)) is not None:
            batches.take(signal, value, offset)
        elif offset >= told:
            yield Skipped(f"a line is no batch of OpenTelemetry ({described(value)})", path, offset)
        if sum(run.count for run in batches.runs.values()) >= MANY:
            yield from _flush(batches, path, at, size)
    yield from _flush(batches, path, at, size)
    if batches.refused:
        yield Skipped(f"{batches.refused:,} entries are not imported: {'. '.join(batches.reasons)}", path)
    LOOKS.keep(path, Look(at, {**ends, **dict.fromkeys(batches.runs, at)}, batches.known))


def _is_rewritten(path: Path, since: Since, size: int) -> bool:
    """True if the file is not a longer version of the one that was imported before."""
    tails = {cursor["at"]: cursor["tail"] for cursor in since.values()}
    return any(end > size or before(path, end) != tail for end, tail in tails.items())


def _flush(batches: Batches, path: Path, at: int, size: int) -> Iterator[Item]:
    for run in batches.runs.values():
        yield run.start
        yield from run.items()
        yield from run.numbers.skipped()
        yield Mark({"at": at, "tail": before(path, at)}, at, size)
