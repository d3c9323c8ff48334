"""The verdict: one sentence on a run, one or two of context, and a status.

It reads the state of the run first, then everything that is bad, everything to watch, and last
whether the run learns. `Learning` needs a rise beyond noise that no evaluation denies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from .claim import Claim
from .effect import Effect
from .pulse import Pulse
from .reference import Status
from .sentence import duration, steps_words
from .trend import ENOUGH
from .trouble import Trouble, troubles, uncapitalised
from .vital_sign import VitalSign

LONGEST_REASON = 140  # characters of a crash's reason in the title
_COUNTS = {0: "No", 1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight", 9: "Nine"}
ENDED = {"crashed": "Crashed", "killed": "Killed"}
NOT_YET = "The rules are reading this run. Their findings appear here in a moment."
PAGES = {"samples": "Rollouts", "spans": "Timeline"}
TO_JUDGE = "Log a reward or an evaluation under a known name, or declare ranges with run.declare(ranges=...)."


class Verdict(TypedDict):
    title: str
    context: str
    status: Status


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything the verdict reads. `claims` are the open findings; None: not diagnosed yet."""

    pulse: Pulse
    claims: Sequence[Claim] | None = ()
    signs: Sequence[VitalSign] = ()
    trained: Effect | None = None
    evaluated: Effect | None = None
    names: int = 0  # metrics that were logged
    known: int = 0  # those that the catalogue knows
    rules: int = 0  # rules that read the run
    hidden: int = 0  # findings that a person hid
    lost: Mapping[str, int] = field(default_factory=dict)  # what the recorder could not keep, and how many
    damaged: int = 0  # places of its files that cannot be read


def verdict(now: Situation) -> Verdict:
    found = troubles(now.claims or (), now.signs, now.lost, now.damaged)
    title, context, status = _state(now, found) or _troubled(now, found) or _calm(now, found)
    hidden = f"{_count(now.hidden)} finding{' is' if now.hidden == 1 else 's are'} hidden." if now.hidden else ""
    return {"title": title, "context": " ".join(part for part in (context, hidden) if part), "status": status}


# ---- the state of the run


def _state(now: Situation, found: list[Trouble]) -> tuple[str, str, Status] | None:
    """What the state alone decides; None if the run goes on, or ended as it should."""
    pulse = now.pulse
    if pulse.state in ENDED:
        return _ended(now, found)
    if not now.names and not pulse.steps:
        title, context = _empty(pulse)
        return title, _quiet(pulse) or context, "none"
    if pulse.starved_since is not None:
        title = f"Nothing to train on since step {pulse.starved_since:,}"
        return title, "Every sample since then was dropped. " + _context(found), "bad"
    if _quiet(pulse):
        return _quiet(pulse), _context(found) or _progress(now), _worst(found, "watch")
    return ("Reading the run", NOT_YET, "none") if now.claims is None else None


def _ended(now: Situation, found: list[Trouble]) -> tuple[str, str, Status]:
    pulse = now.pulse
    at = "before its first step" if not pulse.steps else f"at step {pulse.step:,}"
    first, rest = _reason(pulse)
    context = " ".join(part for part in (rest, _context(found) or _progress(now)) if part)
    return f"{ENDED[pulse.state]} {at}: {first}.", context, "bad"


def _reason(pulse: Pulse) -> tuple[str, str]:
    """The first sentence of the reason for the title, and the rest of it."""
    lines = [line.strip() for line in pulse.reason.splitlines() if line.strip()]
    if not lines:
        return ("no reason was recorded" if pulse.state == "crashed" else "the process ended without a word"), ""
    first, _, rest = lines[-1 if lines[0].startswith("Traceback") else 0].partition(". ")
    if len(first) > LONGEST_REASON:
        return first[: LONGEST_REASON - 1].rstrip() + "…", ""
    return first.rstrip("."), f"{rest.rstrip('.')}." if rest else ""


def _empty(pulse: Pulse) -> tuple[str, str]:
    if pulse.holds:
        pages = " and ".join(PAGES[table] for table in pulse.holds)
        return f"{_capital(' and '.join(pulse.holds))}, and no numbers.", f"No row names a step. Look at {pages}."
    title = "Nothing recorded yet." if pulse.state == "running" else "Nothing was recorded."
    return title, "Every metric that the run logs appears here."


def _quiet(pulse: Pulse) -> str:
    usual = f" A step took {duration(pulse.step_seconds)}." if pulse.step_seconds else ""
    if pulse.silent is not None:
        return f"Silent for {duration(pulse.silent)}.{usual}"
    return f"Stalled: no step for {duration(pulse.stalled)}.{usual}" if pulse.stalled is not None else ""


# ---- what is wrong


def _troubled(now: Situation, found: list[Trouble]) -> tuple[str, str, Status] | None:
    if not found:
        return None
    first = found[0]
    if first.status == "watch" and now.pulse.steps < ENOUGH:
        return _early(now), f"To watch: {_listed(found[:3])}.", "watch"
    learning = first.status == "watch" and _learns(now)
    title = f"Learning, but {uncapitalised(first.says)}" if learning else first.says
    rest = _context(found[1:]) or (f"{_capital(_moved(now))}." if _moved(now) else "")
    return title, f"{first.evidence} {rest}".strip(), first.status


def _context(found: Sequence[Trouble]) -> str:
    if not found:
        return ""
    return f"{_count(len(found))} more to look at: {_listed(found[:2])}." if len(found) > 1 else f"{found[0].says}."


def _listed(found: Sequence[Trouble]) -> str:
    return "; ".join(uncapitalised(trouble.says) for trouble in found)


def _worst(found: Sequence[Trouble], least: Status) -> Status:
    return found[0].status if found and found[0].status == "bad" else least


# ---- nothing is wrong


def _calm(now: Situation, found: list[Trouble]) -> tuple[str, str, Status]:
    if now.pulse.steps < ENOUGH:
        return _early(now), f"A run's opening is a reference from {ENOUGH} steps on.", "none"
    if now.names and not now.known and not any(sign["status"] == "good" for sign in now.signs):
        count = f"{now.names:,} metric{' is' if now.names == 1 else 's are'} logged"
        return "Nothing here can be judged.", f"{count}; the catalogue knows none. {TO_JUDGE}", "none"
    moved = f"{_capital(_moved(now))}. " if _moved(now) else ""
    title, status = _progressed(now)
    return title, f"{moved}{_read(now)}", status


def _read(now: Situation) -> str:
    """How many rules could look. Those that lack what they need claim nothing."""
    if not now.rules:
        return "No rule has what it needs to read this run."
    read = f"{_count(now.rules)} rule{'' if now.rules == 1 else 's'} read this run"
    return f"{read}." if now.hidden else f"{read}; none applies."


def _progressed(now: Situation) -> tuple[str, Status]:
    rest = "Nothing else stands out." if now.hidden else "Nothing stands out."
    trained, evaluated = now.trained, now.evaluated
    if _learns(now):
        return f"Learning. {rest}", "good"
    if trained is None and evaluated is None:
        return "No reward or evaluation to judge by. Nothing else stands out.", "none"
    if trained is not None and trained.better:
        return f"{trained.name} improves; the evaluation does not follow.", "none"
    unsaid = all(effect is None or effect.better is None for effect in (trained, evaluated))
    return ("Too few points to say whether it learns." if unsaid else "No progress beyond noise."), "none"


def _learns(now: Situation) -> bool:
    """Did the evaluation rise beyond its interval, or the reward beyond its noise undenied?"""
    if now.evaluated is not None and now.evaluated.better is not None:
        return now.evaluated.better
    return now.trained is not None and bool(now.trained.better)


def _moved(now: Situation) -> str:
    return "; ".join(effect.says for effect in (now.trained, now.evaluated) if effect is not None)


def _progress(now: Situation) -> str:
    return f"Up to then: {uncapitalised(_moved(now))}." if _moved(now) else ""


def _early(now: Situation) -> str:
    return f"{steps_words(now.pulse.steps)} in. Too early to say."


def _count(number: int) -> str:
    return _COUNTS.get(number, f"{number:,}")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
