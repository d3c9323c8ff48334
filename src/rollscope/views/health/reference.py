"""What a status was held against, as a value that a card, a terminal and the API can say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

Status = Literal["bad", "watch", "good", "none"]
Kind = Literal["finding", "record", "alarm", "healthy", "declared", "opening", "interval", "none"]
WORST_FIRST: tuple[Status, ...] = ("bad", "watch", "good", "none")


class Reference(TypedDict):
    """The kind of reference, the words for it, and its number where it has one."""

    kind: Kind
    text: str
    value: float | None


class Judgement(TypedDict):
    """A status, the sentence that goes with it, and the reference it was held against."""

    status: Status
    reading: str
    reference: Reference


def judgement(status: Status, reading: str, kind: Kind, text: str, value: float | None = None) -> Judgement:
    return {"status": status, "reading": reading, "reference": {"kind": kind, "text": text, "value": value}}


def unjudged(reading: str, why: str = "no reference yet") -> Judgement:
    return judgement("none", reading, "none", why)


def worst(found: Iterable[Judgement]) -> Judgement:
    """The judgement that weighs most; of equal ones the first."""
    return min(found, key=lambda each: WORST_FIRST.index(each["status"]))
