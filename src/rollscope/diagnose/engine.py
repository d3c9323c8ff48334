"""Runs the rules over a case: what they found, and what they could not look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rollscope.diagnose.reading.case import Case

from .costs import Useful, priced, useful
from .finding import MOST_SHOWN, RANK, Finding
from .rule import ORDERS, Rule
from .story import linked


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that did not look, and what it needs."""

    rule: str
    needs: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the rules say about a run. Findings are in the order in which they are told."""

    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    looked: int = 0  # rules that had what they need
    recovered: list[Finding] = field(default_factory=list)  # that were written, and hold no more
    useful: Useful | None = None
    thresholds: list[str] = field(default_factory=list)  # that this project has set, as sentences


Settings = Mapping[str, Mapping[str, float]]  # rule -> threshold -> value


def examine(case: Case, rules: Mapping[str, Rule], settings: Settings | None = None) -> Diagnosis:
    """Let every rule look at the case. A rule that raises gives one finding that says so."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    for rule in rules.values():
        found = _ask(rule, case, (settings or {}).get(rule.name, {}))
        if isinstance(found, Skipped):
            skipped.append(found)
        else:
            findings += found
    return Diagnosis(_told(priced(findings, case)), skipped, len(rules) - len(skipped), useful=useful(case))


def joined(first: Diagnosis, second: Diagnosis) -> Diagnosis:
    """Two diagnoses of one run as one: linked by cause and sorted together."""
    findings, skipped = [*first.findings, *second.findings], [*first.skipped, *second.skipped]
    return replace(first, findings=_told(findings), skipped=skipped, looked=first.looked + second.looked)


def _ask(rule: Rule, case: Case, thresholds: Mapping[str, float]) -> list[Finding] | Skipped:
    try:
        given: list[Any] = []
        for need in rule.needs:
            given.append(need.read(case))
            if given[-1] is None:
                return Skipped(rule.name, need.says)
        given += [need.read(case) for need in rule.optional]
        return [_signed(rule, finding) for finding in rule.look(*given, **thresholds)]
    except Exception as error:
        claim = f"The rule {rule.name} could not read this run"
        broken = Finding(step=0, claim=claim, evidence=f"{type(error).__name__}: {error}", severity="info")
        return [_signed(rule, broken)]


def _signed(rule: Rule, finding: Finding) -> Finding:
    """The finding with the rule's name; it shows at most five samples and five spans."""
    shown = {"sample_ids": finding.sample_ids[:MOST_SHOWN], "spans": finding.spans[:MOST_SHOWN]}
    return replace(finding, rule=rule.name, title=rule.title, order=rule.order, **shown)  # type: ignore[arg-type]


def _told(findings: list[Finding]) -> list[Finding]:
    """Linked by cause, and sorted: severity, then liveness before tuning, then step.

    Tuning advice waits until nothing is bad.
    """
    if any(finding.severity == "bad" for finding in findings):
        findings = [finding for finding in findings if finding.order != "tuning"]
    return sorted(linked(findings), key=lambda f: (RANK[f.severity], ORDERS.index(f.order), f.step))
