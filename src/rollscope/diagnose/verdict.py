"""The one sentence on top of the Overview, and one of context, made from the findings."""

from __future__ import annotations

from collections.abc import Sequence

from .rule import Finding

EARLY = 20  # steps under which nothing can be said
_WORDS = {0: "No", 1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}


def verdict(findings: Sequence[Finding], steps: int, improving: bool | None = None) -> tuple[str, str]:
    """(verdict, context). `improving`: does the reward rise; None where there is none."""
    serious = [f for f in findings if f.severity != "info"]
    if not serious and steps < EARLY:
        return (
            f"{steps} {'step' if steps == 1 else 'steps'} in. Too early to say.",
            "Rules speak after about twenty steps.",
        )
    if not serious:
        return _healthy(improving), "No rule found anything."
    first = min(serious, key=lambda f: (f.severity != "bad", f.claim != "Reward is falling"))
    rest = [f for f in serious if f is not first]
    return f"{first.claim} {_when(first)}", _context(first, rest)


def _healthy(improving: bool | None) -> str:
    if improving is None:
        return "Nothing stands out."
    return (
        "Learning. Nothing stands out." if improving else "Running. Reward does not rise, and nothing else stands out."
    )


def _context(first: Finding, rest: Sequence[Finding]) -> str:
    if not rest:
        return f"{first.evidence} Everything else reads healthy."
    others = "; ".join(f"{_inside(f.claim)} {_when(f)}" for f in rest[:2])
    count = _WORDS.get(len(rest), str(len(rest)))
    return f"{count} more finding{'s' if len(rest) > 1 else ''}: {others}."


def _when(f: Finding) -> str:
    if f.until is None:
        return f"since step {f.step:,}"
    return f"at step {f.step:,}" if f.until == f.step else f"from step {f.step:,} to {f.until:,}"


def _inside(claim: str) -> str:
    """A claim as it stands inside a sentence; `KL` stays in capitals."""
    return claim if claim[1:2].isupper() else claim[0].lower() + claim[1:]
