"""Lines of a text file, of bounded length, up to an end: the file may grow while it is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

LONGEST = 64 << 20  # bytes of a line that is read; a longer one is skipped without being held in memory
PIECE = 1 << 20


def lines(path: Path, at: int = 0) -> Iterator[tuple[int, bytes | None, int]]:
    """Yield (offset, line, offset of the next line), up to the size that the file has now.

    A line longer than `LONGEST` is None. The last line may lack its line break: a writer is at it.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(at)
        while at < size and (raw := file.readline(LONGEST + 1)):
            if len(raw) <= LONGEST:
                yield at, raw, at + len(raw)
                at += len(raw)
                continue
            length = len(raw)
            while not raw.endswith(b"\n") and at + length < size and (raw := file.readline(PIECE)):
                length += len(raw)
            yield at, None, at + length
            at += length


def before(path: Path, at: int) -> bytes:
    """The line that ends at an offset; nothing if there is none, or if it is too long."""
    with path.open("rb") as file:
        begin, found = at, b""
        while begin > 0 and b"\n" not in found[:-1] and len(found) <= LONGEST:
            begin = max(0, begin - PIECE)
            file.seek(begin)
            found = file.read(at - begin)
    line = found[found.rfind(b"\n", 0, len(found) - 1) + 1 :]
    return line if len(line) <= LONGEST else b""
