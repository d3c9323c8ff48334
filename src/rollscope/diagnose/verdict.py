"""The verdict: the sentence at the top of the Overview, and one sentence of context below it."""

from __future__ import annotations

from collections.abc import Sequence

from . import all_rules
from .finding import Finding

EARLY = 20  # below this many steps nothing can be said
_COUNTS = {0: "No", 1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight", 9: "Nine"}


def verdict(findings: Sequence[Finding], steps: int, improving: bool | None = None) -> tuple[str, str]:
    """Verdict and context. `improving` says whether the reward rises; None: there is no reward."""
    serious = [finding for finding in findings if finding.severity != "info"]
    if not serious and steps < EARLY:
        count = "1 step" if steps == 1 else f"{steps} steps"
        return f"{count} in. Too early to say.", "Most rules need about twenty steps."
    if not serious:
        return _healthy(improving), f"{_count(len(all_rules()))} rules read this run; none applies."
    first = min(serious, key=lambda finding: (finding.severity != "bad", finding.claim != "Reward is falling"))
    rest = [finding for finding in serious if finding is not first]
    return f"{first.claim} {_when(first)}", _context(first, rest)


def status(findings: Sequence[Finding], steps: int) -> str:
    """bad, watch, good, or none while it is too early to say."""
    severities = {finding.severity for finding in findings}
    early = "none" if steps < EARLY else "good"
    return next((severity for severity in ("bad", "watch") if severity in severities), early)


def _healthy(improving: bool | None) -> str:
    if improving is None:
        return "Nothing stands out."
    return "Learning. Nothing stands out." if improving else "Running. Reward does not rise; nothing else stands out."


def _context(first: Finding, rest: Sequence[Finding]) -> str:
    if not rest:
        return f"{first.evidence} Everything else looks healthy."
    others = "; ".join(f"{_uncapitalised(finding.claim)} {_when(finding)}" for finding in rest[:2])
    return f"{_count(len(rest))} more finding{'s' if len(rest) > 1 else ''}: {others}."


def _count(number: int) -> str:
    return _COUNTS.get(number, str(number))


def _when(finding: Finding) -> str:
    if finding.until is None:
        return f"since step {finding.step:,}"
    if finding.until == finding.step:
        return f"at step {finding.step:,}"
    return f"from step {finding.step:,} to {finding.until:,}"


def _uncapitalised(claim: str) -> str:
    """A claim inside a sentence: first letter small, unless it begins with an acronym (`KL`)."""
    return claim if claim[1:2].isupper() else claim[0].lower() + claim[1:]
