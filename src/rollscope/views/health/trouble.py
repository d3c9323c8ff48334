"""Everything that is wrong with a run in one list, worst first: findings, vital signs, losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .claim import Claim, when
from .reference import WORST_FIRST, Status
from .vital_sign import VitalSign


@dataclass(frozen=True, slots=True)
class Trouble:
    status: Status  # bad or watch
    says: str  # without a full stop
    evidence: str = ""  # sentences, with theirs


def troubles(
    claims: Sequence[Claim], signs: Sequence[VitalSign], lost: Mapping[str, int], damaged: int
) -> list[Trouble]:
    """Worst first; of equal weight findings before vital signs, in the order they came."""
    every = [*_claims(claims), *_signs(signs), *_files(lost, damaged)]
    return sorted(every, key=lambda trouble: WORST_FIRST.index(trouble.status))


def _claims(claims: Sequence[Claim]) -> Iterator[Trouble]:
    for claim in claims:
        if claim.severity in ("bad", "watch"):
            yield Trouble("bad" if claim.severity == "bad" else "watch", f"{claim.claim} {when(claim)}", claim.evidence)


def _signs(signs: Sequence[VitalSign]) -> Iterator[Trouble]:
    """Signs that no finding speaks for."""
    for sign in signs:
        if sign["status"] in ("bad", "watch") and sign["reference"]["kind"] != "finding":
            first, _, rest = sign["reading"].partition(". ")
            says = f"{sign['title']}: {uncapitalised(first.rstrip('.'))}"
            yield Trouble("bad" if sign["status"] == "bad" else "watch", says, f"{rest} {_held(sign)}".strip())


def _held(sign: VitalSign) -> str:
    text = sign["reference"]["text"]
    return f"{text[:1].upper()}{text[1:]}." if text not in sign["reading"] else ""


def _files(lost: Mapping[str, int], damaged: int) -> Iterator[Trouble]:
    if lost:
        what = " and ".join(f"{count:,} of its {word}" for word, count in sorted(lost.items()))
        yield Trouble("watch", f"The recorder lost {what}", "Notes say why.")
    if damaged:
        places = "place" if damaged == 1 else "places"
        yield Trouble("watch", f"{damaged:,} {places} of the run's files cannot be read", "Numbers may be missing.")


def uncapitalised(text: str) -> str:
    """A sentence inside another: first letter small, unless it begins with `KL` or `NaN`."""
    first = text.split(" ")[0]
    return text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]
