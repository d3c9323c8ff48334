"""The story of a run: findings linked by cause, told as chains with the cause first.

A finding is a consequence of another if a known edge leads from that rule to its own, and if it did
not begin clearly before it, nor long after it was over. The nearest cause wins: of several, the one
that explains others least directly is left to explain its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .finding import RANK, Finding

SLACK = 10  # steps by which a consequence may seem to begin before its cause: onsets are estimates
ECHO = 20  # steps after the end of a cause in which a consequence may still begin
VAGUE = 0.45  # of the steps before a plateau: it shows itself only after so many more
UNEXPLAINED = ("plateau", "catalogue-alarms")  # say that something is wrong, not what
AT_ONCE = 2  # steps between two onsets that count as one: then the rule above in the table leads

SPOILED = ("reward-falling", "dead-groups", "kl-takeoff", "ended-early")  # by nearly every fault of the signal
LEADS_TO: dict[str, tuple[str, ...]] = {  # rule -> rules whose findings it explains
    "non-finite": (*SPOILED, "entropy-collapse", "entropy-explosion", "gradient-vanished"),
    "broken-start": (*SPOILED, "update-too-large", "clip-saturation", "gradient-vanished", "kl-first-tokens"),
    "environment-failures": (
        *("dead-groups", "reward-falling", "ended-early", "trainer-waits", "zero-gradient", "gradient-vanished"),
        *("time-limit-zeros", "wrong-difficulty", "proxy-gap", "grader-outage"),
    ),
    "tool-failures": ("dead-groups", "reward-falling", "turns-collapse", "ended-early", "environment-failures"),
    "time-limit-zeros": ("dead-groups", "reward-falling", "ended-early", "grader-outage"),
    "grader-drift": ("grader-outage", "reward-falling", "dead-groups", "proxy-gap", "reward-noise"),
    "grader-outage": (
        *("dead-groups", "reward-falling", "proxy-gap", "reward-noise", "zero-gradient", "gradient-vanished"),
        *("gradient-spikes", "ended-early", "plateau"),
    ),
    "split-groups": ("dead-groups", "zero-gradient", "gradient-vanished"),
    "update-too-large": (
        *(*SPOILED, "entropy-collapse", "entropy-explosion", "gradient-spikes", "gradient-vanished"),
        *("truncation", "degenerate-text", "clip-saturation", "one-template", "proxy-gap", "turns-collapse"),
    ),
    "trainer-waits": ("staleness", "slower", "environment-failures"),
    "staleness": (*SPOILED, "engine-mismatch", "clip-saturation", "gradient-spikes", "entropy-collapse"),
    "expert-routing": ("engine-mismatch",),
    "engine-mismatch": (
        *(*SPOILED, "gradient-spikes", "entropy-collapse", "entropy-explosion", "clip-saturation", "degenerate-text"),
        *("update-too-large", "truncation", "proxy-gap"),
    ),
    "gradient-spikes": (*SPOILED, "entropy-collapse", "entropy-explosion"),
    "clip-saturation": ("entropy-collapse", "reward-falling", "plateau"),
    "length-exploited": ("truncation", "proxy-gap", "slower", "grader-drift", *SPOILED),
    "reward-composition": ("proxy-gap", "reward-falling", "plateau"),
    "reward-noise": (
        *(*SPOILED, "proxy-gap", "entropy-explosion", "truncation", "plateau", "update-too-large"),
        "gradient-spikes",
    ),
    "kl-first-tokens": ("kl-takeoff", "reward-falling", "plateau"),
    "kl-takeoff": (
        *("reward-falling", "entropy-collapse", "entropy-explosion", "truncation", "degenerate-text"),
        *("gradient-vanished", "gradient-spikes", "dead-groups"),
    ),
    "entropy-collapse": (
        *("dead-groups", "reward-falling", "one-template", "plateau", "gradient-vanished", "zero-gradient"),
        *("kl-takeoff", "proxy-gap"),
    ),
    "proxy-gap": ("entropy-collapse", "one-template", "reward-falling"),
    "entropy-explosion": ("truncation", "degenerate-text", "reward-falling"),
    "truncation": ("dead-groups", "reward-falling", "ended-early", "gradient-vanished", "zero-gradient"),
    "dead-groups": (
        *("gradient-vanished", "zero-gradient", "ended-early", "plateau", "kl-takeoff", "entropy-explosion"),
        *("reward-falling", "proxy-gap", "wrong-difficulty", "truncation", "update-too-large"),
    ),
    "gradient-vanished": ("plateau", "ended-early"),
    "critic-useless": ("reward-falling",),
    "degenerate-text": ("truncation", "reward-falling", "slower"),
    "one-template": ("dead-groups", "reward-falling"),
}
_PLACE = {rule: place for place, rule in enumerate(LEADS_TO)}


@dataclass(frozen=True, slots=True)
class Chapter:
    """A finding and the findings that follow from it."""

    finding: Finding
    follows: list[Chapter] = field(default_factory=list)

    def findings(self) -> Iterator[Finding]:
        """This one and all that follow, in order."""
        yield self.finding
        for chapter in self.follows:
            yield from chapter.findings()


def linked(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each with the rule of its cause."""
    return [replace(finding, cause=_cause(finding, findings)) for finding in findings]


def story(findings: Sequence[Finding]) -> list[Chapter]:
    """Chains of findings. The chain with the worst finding comes first, then the earliest."""
    by_cause: dict[str, list[Finding]] = {}
    rules = {finding.rule for finding in findings}
    for finding in findings:
        by_cause.setdefault(finding.cause if finding.cause in rules else "", []).append(finding)
    chapters = [_chapter(finding, by_cause, frozenset()) for finding in by_cause.get("", [])]
    told = {id(finding) for chapter in chapters for finding in chapter.findings()}
    chapters += [Chapter(finding) for finding in findings if id(finding) not in told]  # causes of each other
    return sorted(chapters, key=_place)


def _place(chapter: Chapter) -> tuple[int, bool, int]:
    """By the worst severity, then by step; what no rule explains comes after what one does."""
    worst = min(RANK[finding.severity] for finding in chapter.findings())
    return worst, chapter.finding.rule in UNEXPLAINED, chapter.finding.step


def told(findings: Sequence[Finding]) -> list[Finding]:
    """The findings in the order of the story: each after its cause."""
    return [finding for chapter in story(findings) for finding in chapter.findings()]


def _chapter(finding: Finding, by_cause: dict[str, list[Finding]], above: frozenset[str]) -> Chapter:
    after = [f for f in by_cause.get(finding.rule, []) if f.rule not in above | {finding.rule}]
    chapters = [_chapter(f, by_cause, above | {finding.rule}) for f in sorted(after, key=lambda f: f.step)]
    return Chapter(finding, chapters)


def _cause(finding: Finding, findings: Sequence[Finding]) -> str:
    """The rule of the latest finding that leads to this one directly; empty if none does."""
    causes = [other for other in findings if _leads(other, finding) and other.severity != "info"]
    return max(causes, key=lambda other: (other.step, -RANK[other.severity])).rule if causes else ""


def _leads(cause: Finding, finding: Finding) -> bool:
    """Can one explain the other? If each can explain the other, the one that began first does."""
    if not _explains(cause.rule, finding.rule) or not _in_time(cause, finding):
        return False
    if cause.rule not in LEADS_TO.get(finding.rule, ()):
        return cause.step <= finding.step + _slack(finding)
    together = abs(cause.step - finding.step) <= AT_ONCE
    return _PLACE[cause.rule] < _PLACE[finding.rule] if together else cause.step < finding.step


def _explains(cause: str, rule: str) -> bool:
    """Is there an edge? A bare threshold of the catalogue follows whatever has a name."""
    return rule in LEADS_TO.get(cause, ()) or (rule == "catalogue-alarms" and cause in LEADS_TO)


def _slack(finding: Finding) -> float:
    """Steps by which a consequence may seem to begin before its cause."""
    return max(SLACK, VAGUE * finding.step) if finding.rule == "plateau" else SLACK


def _in_time(cause: Finding, finding: Finding) -> bool:
    """Was the cause not long over, and did what comes and goes happen shortly before?"""
    if cause.moments:
        return any(moment - SLACK <= finding.step <= moment + ECHO for moment in cause.moments)
    return cause.until is None or cause.until + ECHO >= finding.step
