"""The story of a run: findings linked by cause, told as chains with the cause first.

A finding is a consequence of another if a known edge leads from that rule to its own, and if it did
not begin clearly before it. The nearest cause wins: of several, the one that explains others least
directly is left to explain its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .finding import RANK, Finding

SLACK = 10  # steps by which a consequence may seem to begin before its cause: onsets are estimates

LEADS_TO: dict[str, tuple[str, ...]] = {  # rule -> rules whose findings it explains
    "non-finite": ("reward-falling", "entropy-collapse", "kl-takeoff", "dead-groups"),
    "entropy-collapse": ("dead-groups", "reward-falling"),
    "kl-takeoff": ("reward-falling", "entropy-collapse", "truncation"),
    "truncation": ("dead-groups", "reward-falling"),
    "dead-groups": ("reward-falling",),
}


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
    return sorted(chapters, key=lambda c: (min(RANK[f.severity] for f in c.findings()), c.finding.step))


def told(findings: Sequence[Finding]) -> list[Finding]:
    """The findings in the order of the story: each after its cause."""
    return [finding for chapter in story(findings) for finding in chapter.findings()]


def _chapter(finding: Finding, by_cause: dict[str, list[Finding]], above: frozenset[str]) -> Chapter:
    after = [f for f in by_cause.get(finding.rule, []) if f.rule not in above | {finding.rule}]
    chapters = [_chapter(f, by_cause, above | {finding.rule}) for f in sorted(after, key=lambda f: f.step)]
    return Chapter(finding, chapters)


def _cause(finding: Finding, findings: Sequence[Finding]) -> str:
    """The rule of the latest finding that leads to this one directly; empty if none does."""
    causes = [
        other
        for other in findings
        if finding.rule in LEADS_TO.get(other.rule, ()) and other.step <= finding.step + SLACK and _serious(other)
    ]
    return max(causes, key=lambda other: (other.step, -RANK[other.severity])).rule if causes else ""


def _serious(finding: Finding) -> bool:
    return finding.severity != "info"
