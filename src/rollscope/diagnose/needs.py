"""What a rule can ask for. Each need reads one part of a run, and says in words what it is.

A need that finds nothing gives None: the rule is skipped, and the doctor says what was missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rollscope.diagnose.reading.case import Case


class Need(Protocol):
    """Something that a rule is given."""

    @property
    def says(self) -> str:
        """What is needed, in words: the end of a sentence that begins with "needs"."""
        ...

    def read(self, case: Case) -> Any | None: ...


@dataclass(frozen=True, slots=True)
class SeriesOf:
    """The first of several series that has defined points."""

    names: tuple[str, ...]

    @property
    def says(self) -> str:
        return " or ".join(self.names)

    def read(self, case: Case) -> Any | None:
        return case.series(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)


@dataclass(frozen=True, slots=True)
class FromSamples:
    """A number per step that the doctor makes from the samples; `aggregates/` has them by name."""

    name: str

    @property
    def says(self) -> str:
        from .aggregates import needs_of

        return f"samples with {needs_of(self.name)}"

    def read(self, case: Case) -> Any | None:
        return case.aggregate(self.name)


@dataclass(frozen=True, slots=True)
class SeriesOrSamples:
    """A series as it was logged, else the same number from the samples."""

    names: tuple[str, ...]
    aggregate: str

    @property
    def says(self) -> str:
        return f"{SeriesOf(self.names).says}, or {FromSamples(self.aggregate).says}"

    def read(self, case: Case) -> Any | None:
        return case.series(self.names) or case.aggregate(self.aggregate)


@dataclass(frozen=True, slots=True)
class Evaluations:
    """Scores of evaluation sets over steps, with the scores of their tasks where they are known."""

    least: int = 1  # evaluations of one set

    @property
    def says(self) -> str:
        return "an evaluation" if self.least == 1 else f"{self.least} evaluations of one set"

    def read(self, case: Case) -> Any | None:
        return [e for e in case.evaluations() if len(e.series) >= self.least] or None


@dataclass(frozen=True, slots=True)
class HostOf:
    """A quantity of the host or of a device, over time: one `Gauge` for each device."""

    name: str

    @property
    def says(self) -> str:
        return f"{self.name} of the host"

    def read(self, case: Case) -> Any | None:
        return case.gauges(self.name) or None


@dataclass(frozen=True, slots=True)
class AboutRun:
    """State, reason, configuration, declared facts and the clock of a run. Always there."""

    says: str = "the run's record"

    def read(self, case: Case) -> Any | None:
        return case.about()


@dataclass(frozen=True, slots=True)
class NonFiniteOf:
    """Every metric that logged NaN or infinity."""

    says: str = "any metric"

    def read(self, case: Case) -> Any | None:
        return case.non_finite()


@dataclass(frozen=True, slots=True)
class CaseOf:
    """The run itself, for a rule that looks closer once its numbers say so."""

    says: str = "the run"

    def read(self, case: Case) -> Any | None:
        return case


def need_of(given: str | tuple[str, ...] | Need) -> Need:
    """A need from a name or from alternative names."""
    if isinstance(given, str):
        return SeriesOf((given,))
    return SeriesOf(given) if isinstance(given, tuple) else given
