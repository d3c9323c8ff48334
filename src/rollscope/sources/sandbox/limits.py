"""How much memory, time and output reading a file may take: a base, and more for a larger file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

MB, GB = 1 << 20, 1 << 30
NONE = 1 << 60  # stands for no limit
FILES = 10_000  # files of a folder whose sizes are added up
LEVELS = 16  # of folders in it that are looked into: no source keeps a run deeper
WALL = 4  # seconds on the clock for a second of CPU time: a busy machine is not a bomb


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one file. A million points take a second and 130 MB."""

    memory: int = 2 * GB  # bytes that the reading process may allocate
    seconds: float = 30.0  # CPU time
    output: int = 256 * MB  # bytes of rows
    runs: int = 1000
    skipped: int = 1000  # problems listed one by one; the rest are counted
    bytes_per_second: int = 100_000  # more time for a larger file
    memory_factor: int = 20  # bytes of memory for a byte of the file
    output_factor: int = 100  # bytes of rows for a byte of the file

    def for_size(self, size: int) -> Limits:
        """The limits for a file of this size. Memory stays below half of the machine's."""
        return replace(
            self,
            memory=min(self.memory + self.memory_factor * size, max(self.memory, _half_of_memory())),
            seconds=self.seconds + size / self.bytes_per_second,
            output=self.output + self.output_factor * size,
        )


UNLIMITED = Limits(memory=NONE, seconds=NONE, output=NONE, runs=NONE)  # for files that the user trusts


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (OSError, ValueError, AttributeError):
        return 0


def size_on_disk(path: Path) -> int:
    """Bytes that a file or the files of a folder take on the disk; a hole takes none."""
    if not path.is_dir():
        return _blocks(path)
    return sum(_blocks(file) for file in islice(_below(path, LEVELS), FILES))


def _below(folder: Path, levels: int) -> Iterator[Path]:
    """The files of a folder, and of those in it that are no links."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)
        elif levels:
            yield from _below(Path(entry.path), levels - 1)


def _blocks(path: Path) -> int:
    try:
        stat = path.stat()
    except OSError:
        return 0
    return min(stat.st_size, getattr(stat, "st_blocks", NONE) * 512)


def written(size: float) -> str:
    """A number of bytes for a person, such as 2.0 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
