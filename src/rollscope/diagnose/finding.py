"""A finding: one thing a rule says about a run, and its JSON for the command line and the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

Severity = Literal["bad", "watch", "info"]


class FindingShape(TypedDict):
    rule: str
    title: str
    severity: str
    step: int
    until: int | None
    claim: str
    evidence: str
    metrics: list[str]
    check: list[str]
    samples: str
    teaches: str
    hidden: bool
    why_hidden: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, the step it began at, and the numbers that show it."""

    step: int  # the first step of the problem
    claim: str  # one sentence, without the numbers
    evidence: str  # the numbers, in words
    severity: Severity = "watch"
    until: int | None = None  # None: it still holds
    metrics: tuple[str, ...] = ()  # series that show it; the first is the evidence chart
    check: tuple[str, ...] = ()  # what to look at first, in order
    samples: str = ""  # SQL condition that selects the samples behind it
    rule: str = ""
    title: str = ""

    def json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {**asdict(self), "metrics": list(self.metrics), "check": list(self.check)}

    def shape(self, teaches: str, hidden: Mapping[str, str]) -> FindingShape:
        """The JSON of the API: the fields, what the rule teaches, and whether a person hid it."""
        return {
            **self.json(),  # type: ignore[typeddict-item]
            "title": self.title or self.claim,
            "teaches": teaches,
            "hidden": self.rule in hidden,
            "why_hidden": hidden.get(self.rule, ""),
        }
