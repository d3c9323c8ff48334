"""A finding: one thing a rule says about a run, and its JSON for the command line and the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

Severity = Literal["bad", "watch", "info"]
Life = Literal["opened", "worse", "recovered"]
RANK: dict[str, int] = {"bad": 0, "watch": 1, "info": 2}  # the worst first
MOST_SHOWN = 5  # samples, or spans, that a finding names


class AdviceShape(TypedDict):
    text: str
    source: str


class CostShape(TypedDict):
    share: float
    samples: int
    tokens: int
    gpu_hours: float | None
    money: float | None
    currency: str
    why: str


class SpanShape(TypedDict):
    lane: str
    name: str
    start_ns: int
    end_ns: int
    step: int | None


class EventShape(TypedDict):
    life: str
    step: int
    severity: str
    time_ns: int | None


class FindingShape(TypedDict):
    rule: str
    title: str
    order: str
    severity: str
    step: int
    until: int | None
    moments: list[int]
    claim: str
    evidence: str
    metrics: list[str]
    check: list[str]
    advice: list[AdviceShape]
    samples: str
    sample_ids: list[str]
    spans: list[SpanShape]
    cost: CostShape | None
    thresholds: list[str]
    cause: str
    life: list[EventShape]
    teaches: str
    hidden: bool
    why_hidden: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What to change, and who found that it helps."""

    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work that bought nothing: a share of the run's samples, and what they took."""

    share: float  # of all samples, or of the run's time where `why` says so
    samples: int = 0
    tokens: int = 0
    gpu_hours: float | None = None  # None: the number of GPUs is not known
    money: float | None = None  # None: no price was declared
    currency: str = ""
    why: str = ""  # one sentence: what was counted


@dataclass(frozen=True, slots=True)
class SpanAt:
    """A span that shows the problem: where it lies on the timeline."""

    lane: str
    name: str
    start_ns: int
    end_ns: int
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A moment in the life of a finding."""

    life: Life
    step: int
    severity: Severity
    time_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, the step it began at, and the numbers that show it."""

    step: int  # the first step of the problem
    claim: str  # one sentence, without the numbers
    evidence: str  # the numbers, in words
    severity: Severity = "watch"
    until: int | None = None  # None: it still holds
    moments: tuple[int, ...] = ()  # steps at which it happened, if it comes and goes
    metrics: tuple[str, ...] = ()  # series that show it; the first is the evidence chart
    check: tuple[str, ...] = ()  # what to look at first, in order
    advice: tuple[Advice, ...] = ()  # what to change after that
    samples: str = ""  # SQL condition that selects the samples behind it
    sample_ids: tuple[str, ...] = ()  # at most five samples that show it
    spans: tuple[SpanAt, ...] = ()  # at most five spans that show it
    cost: Cost | None = None
    thresholds: tuple[str, ...] = ()  # of its rule that this project has set, each as a sentence
    cause: str = ""  # the rule whose finding explains this one; empty: it is a beginning
    life: tuple[Event, ...] = ()
    rule: str = ""
    title: str = ""
    order: str = ""  # liveness, environment, waste, signal or tuning

    def json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        lists = ("thresholds", "moments", "metrics", "check", "advice", "sample_ids", "spans", "life")
        fields = asdict(self)
        return {**fields, **{name: list(fields[name]) for name in lists}}

    def shape(self, teaches: str, hidden: Mapping[str, str]) -> FindingShape:
        """The JSON of the API: the fields, what the rule teaches, and whether a person hid it."""
        return {
            **self.json(),  # type: ignore[typeddict-item]
            "title": self.title or self.claim,
            "teaches": teaches,
            "hidden": self.rule in hidden,
            "why_hidden": hidden.get(self.rule, ""),
        }
