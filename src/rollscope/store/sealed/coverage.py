"""Which bytes of a log the sealed sets hold.

A set names its sources: `WRITER.SEQ` stands for a log from its first byte, `WRITER.SEQ@FROM` for
the part that begins at byte FROM, sealed later because the log had grown. The number beside a name
is the byte where the part ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol


class HasSources(Protocol):
    @property
    def sources(self) -> Mapping[str, int]: ...


def name_of(stem: str, start: int) -> str:
    """The name of the part of a log that begins at a byte."""
    return f"{stem}@{start}" if start else stem


def covered(sets: Iterable[HasSources], stem: str) -> int:
    """How many bytes of a log, from the first on, these sets hold without a gap."""
    ends = {name: end for sealed in sets for name, end in sealed.sources.items()}
    at = 0
    while (end := ends.get(name_of(stem, at), 0)) > at:
        at = end
    return at
