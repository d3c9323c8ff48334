"""The answer to a name: which series of a run it means, in which unit, and how it was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .dialect import Dialect, dialect_of
from .held import Held, RunNames, full_name
from .match import Match
from .units import scaled, unit_of


@dataclass(frozen=True, slots=True)
class Found:
    """The series of a run that a name means."""

    asked: str
    stored: str  # the name in the store
    scale: float = 1.0  # asked = scale * stored
    unit: str = ""  # of the numbers asked for
    name: str = ""  # ours for the quantity; empty if the catalogue has none
    warning: str = ""  # how the number differs from what the name promises
    why: str = ""  # how the name was read; empty if the run logged it
    same: bool = True  # whether it is the quantity that the name means


def as_logged(name: str, run: RunNames) -> Found:
    """The series that the run logged under this very name."""
    match = run.match(name)
    ours = full_name(match, match.scope) if match is not None and match.same else ""
    return Found(name, name, unit=unit_of(match), name=ours)


def answer(asked: str, match: Match, held: Held, run: RunNames) -> Found:
    """The answer that a series is to a name with this meaning."""
    scale = match.via.scale if match.via and match.same else 1.0
    return Found(
        asked=asked,
        stored=held.stored,
        scale=scale / held.scale,
        unit="" if match.stat == "gini" else scaled(match.entry.unit, scale),
        name=full_name(held.match, held.match.scope),
        warning=" ".join(_warnings(asked, match, held)),
        why="; ".join(_reasons(asked, match, held, run)),
        same=match.same,
    )


def _warnings(asked: str, match: Match, held: Held) -> Iterator[str]:
    """How the number differs from what the name promises."""
    if match.via is not None and not match.same:
        note = match.via.note or "another quantity under a neighbouring name"
        yield f"{asked} of {dialect_of(match.via)} is another quantity ({note}); this is {match.name}."
    wanted = counted(match)
    if match.entry.scoped and wanted != held.counts and wanted and held.counts:
        yield f"{asked} counts {wanted} samples; this counts {held.counts} samples."
    elif match.entry.scoped and match.via is None and wanted and not held.counts:
        yield f"The run does not say which samples were trained on; this counts all, not {wanted} samples alone."
    if held.match.evaluation and not match.evaluation:
        yield f"The run has it for an evaluation alone, as {held.stored}."


def _reasons(asked: str, match: Match, held: Held, run: RunNames) -> Iterator[str]:
    """How the name was read, in parts of a sentence."""
    if match.via is not None:
        decided = f", as {run.spoken.why}" if _is_spoken(match, run) else ""
        yield f"{asked} is {full_name(match, match.scope)} in {dialect_of(match.via)}{decided}"
    elif not match.stat and match.entry.kind == "distribution":
        yield f"{asked} without a statistic is its mean"
    if match.entry.scoped and held.match.scope and not match.scope:
        yield f"it counts the {held.match.scope} samples"
    if held.match.via is not None or held.match.entry is not match.entry:
        yield f"the run logs it as {held.stored}"


def _is_spoken(match: Match, run: RunNames) -> bool:
    return run.spoken.dialect is not None and Dialect.parse(run.spoken.dialect).speaks(match.via)


def counted(match: Match) -> str:
    """The samples that a name counts: a scope, or empty if it names none."""
    return match.scope or (match.via.scope if match.via and match.entry.scoped else "")
