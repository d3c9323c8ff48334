"""The health of a run: the verdict and its vital signs, the same for page, terminal and API."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning, stored_meanings
from rollscope.views.evals.environments import is_of_another

from .claim import Claim
from .effect import effects
from .pulse import pulse
from .verdict import Situation, Verdict, verdict
from .vital_sign import VitalSign, is_about, vital_sign
from .vitals import kind_of, vital_series

LONGEST_WORD = 40  # characters of what was lost
Found = TypeVar("Found", bound=Claim)


@dataclass(frozen=True, slots=True)
class Health(Generic[Found]):
    """The verdict, the kind of run, and each vital sign with the findings that are about it."""

    verdict: Verdict
    kind: str
    signs: list[tuple[VitalSign, list[Found]]]


def health(
    run: Run,
    claims: Sequence[Found] | None,
    hidden: int = 0,
    rules: int = 0,
    kind: str = "",
    now: float | None = None,
    env: str = "",
) -> Health[Found]:
    """Judge a run. `claims` are its open findings, None before the first diagnosis.

    `kind` chooses the vital signs of another kind of run than its own, `env` those of one of its
    environments. The verdict is about the run as a whole.
    """
    meanings = stored_meanings(run)
    shown = {name: m for name, m in meanings.items() if not is_of_another(run, name, env)}
    signs = [_sign(run, series, claims or (), env) for series in vital_series(run, shown, kind)]
    trained, evaluated = effects(run, meanings)
    situation = Situation(
        pulse=pulse(run, meanings, now),
        claims=claims,
        signs=[sign for sign, _ in signs],
        trained=trained,
        evaluated=evaluated,
        names=len(meanings),
        known=sum(meaning.match is not None for meaning in meanings.values()),
        rules=rules,
        hidden=hidden,
        lost=_lost(run),
        damaged=len(run.damage),
    )
    return Health(verdict(situation), kind or kind_of(run, meanings).name, signs)


def _sign(run: Run, series: list[Meaning], claims: Sequence[Found], env: str) -> tuple[VitalSign, list[Found]]:
    own = [claim for claim in claims if claim.metrics and is_about(claim.metrics[0], series)]
    return vital_sign(run, series, own, env), own


def _lost(run: Run) -> dict[str, int]:
    """What the recorder could not keep, by its own notes, and how many."""
    notes, lost = run.notes(), Counter[str]()
    for kind, data in zip(notes["kind"], notes["data"], strict=True):
        if kind == "loss":
            what, count = _loss(data)
            lost[what] += count
    return dict(lost)


def _loss(data: Any) -> tuple[str, int]:
    try:
        facts = json.loads(data) if isinstance(data, str) else data
        return str(facts["what"])[:LONGEST_WORD], max(int(facts["count"]), 0)
    except (ValueError, TypeError, KeyError):
        return "rows", 1
