"""Names and units: the interface that a catalogue fills. The store takes names as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Found(Protocol):
    """The stored series that a name means, and how to read its numbers."""

    @property
    def asked(self) -> str: ...
    @property
    def stored(self) -> str: ...
    @property
    def scale(self) -> float: ...  # asked = scale * stored
    @property
    def unit(self) -> str: ...  # of the numbers asked for
    @property
    def warning(self) -> str: ...  # how they differ from what the name promises
    @property
    def why(self) -> str: ...  # how the name was read


class RunNaming(Protocol):
    """The names of one run."""

    def find(self, name: str, dialect: str | None = None) -> Found:
        """The series that a name means. Raises if the run holds none, or several."""
        ...

    def find_all(self, pattern: str, dialect: str | None = None) -> Sequence[Found]:
        """The series that a name or a pattern means; none if the run holds none."""
        ...

    def unit(self, stored: str) -> str: ...


class Naming(Protocol):
    """Reads the names of a run with these stored and derived names and these facts."""

    def of(self, names: Collection[str], facts: Mapping[str, Any]) -> RunNaming: ...


@dataclass(frozen=True, slots=True)
class Logged:
    """A series under the name that was logged, without a unit."""

    asked: str
    stored: str
    scale: float = 1.0
    unit: str = ""
    warning: str = ""
    why: str = ""


class AsWritten:
    """Names are taken as they were logged, and have no unit."""

    def of(self, names: Collection[str], facts: Mapping[str, Any]) -> RunNaming:
        return self

    def find(self, name: str, dialect: str | None = None) -> Found:
        return Logged(name, name)

    def find_all(self, pattern: str, dialect: str | None = None) -> Sequence[Found]:
        return [Logged(pattern, pattern)]

    def unit(self, stored: str) -> str:
        return ""
