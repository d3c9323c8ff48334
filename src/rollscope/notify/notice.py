"""A notice: one finding that began or ended, in the words that people get."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rollscope.diagnose.finding import Finding
from rollscope.store.log.secret import hide_text
from rollscope.visible import visible

Event = Literal["opened", "recovered"]
LONGEST = 1000  # characters of one sentence
_MARK = {"bad": "✕", "watch": "!", "info": "i"}


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told. `id` is the same wherever and whenever the same change is noticed."""

    run: str
    name: str  # of the run, for people
    event: Event
    rule: str
    severity: str
    step: int
    until: int | None
    claim: str
    evidence: str
    check: str
    time_ns: int = field(default_factory=time.time_ns)

    @classmethod
    def of(cls, finding: Finding, event: Event, run: str, name: str) -> Notice:
        first = finding.check[0] if finding.check else ""
        claim, evidence, check = (_harmless(text) for text in (finding.claim, finding.evidence, first))
        when = (finding.step, finding.until)
        return cls(run, _harmless(name), event, finding.rule, finding.severity, *when, claim, evidence, check)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Notice:
        """The notice that `json` wrote. Raises KeyError if a field is missing."""
        return cls(**{name: row[name] for name in cls.__slots__})

    def json(self) -> dict[str, Any]:
        return {"id": self.id} | {name: getattr(self, name) for name in self.__slots__}

    @property
    def id(self) -> str:
        return f"{self.rule}@{self.step}:{self.event}"

    @property
    def title(self) -> str:
        """One line: the run, what happened, since when."""
        if self.event == "recovered":
            return f"✓ {self.name}: over: {self.claim}, {self._when}"
        return f"{_MARK.get(self.severity, '!')} {self.name}: {self.claim} {self._when}"

    @property
    def lines(self) -> list[str]:
        """What the title leaves out, a sentence a line."""
        if self.event == "recovered":
            return [f"It began at step {self.step:,}."]
        first = f"First check: {self.check}" if self.check else ""
        return [line for line in (self.evidence, first, f"rollscope doctor {self.run}") if line]

    @property
    def _when(self) -> str:
        if self.event == "opened":
            return f"since step {self.step:,}"
        return f"from step {self.step:,} to {self.until:,}" if self.until is not None else f"since step {self.step:,}"


def _harmless(text: str) -> str:
    """One line of text without secrets and hidden characters: it leaves this machine."""
    line = visible(hide_text(" ".join(str(text).split())))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"
