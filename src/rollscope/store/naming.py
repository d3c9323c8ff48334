"""Names and units: the interface that a catalogue fills. The store takes names as they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Naming(Protocol):
    """Finds the stored name that a caller means, and the unit of a name."""

    def find(self, name: str, known: Collection[str], dialect: str | None) -> str: ...

    def unit(self, name: str) -> str: ...


class AsWritten:
    """Names are taken as they were logged, and have no unit."""

    def find(self, name: str, known: Collection[str], dialect: str | None) -> str:
        return name

    def unit(self, name: str) -> str:
        return ""
