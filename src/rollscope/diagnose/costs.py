"""What findings cost, and the useful share of what a run generated.

Only work that bought nothing counts. GPU-hours follow from the number of GPUs and the time of the
run, money from a declared price (`run.declare(gpus=8, gpu_hour_price=2.5, currency="EUR")`, or the
same words in the configuration). Without them a cost is a share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rollscope.diagnose.aggregates.useful import REASONS
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.case import Case

from .finding import Cost, Finding

WASTES = {"dead-groups": "no_spread", "environment-failures": "failed", "staleness": "stale"}  # rule -> reason
WHY = {
    "no_spread": "samples whose advantage is 0: all of their group got the same, or they its mean",
    "failed": "samples that failed outside the policy",
    "stale": "samples thrown away because they were too old",
    "discarded": "samples discarded for another reason",
}


@dataclass(frozen=True, slots=True)
class Useful:
    """How much of what was generated taught something, and what became of the rest."""

    share: float  # of tokens, or of samples where tokens are not known
    samples: int
    tokens: int  # 0: not known
    wasted: tuple[Cost, ...]  # by reason, the largest first

    @property
    def sentence(self) -> str:
        what = "tokens generated" if self.tokens else "samples generated"
        text = f"Useful share of the {what}: {100 * self.share:.0f} %."
        parts = [f"{100 * cost.share:.0f} % were {cost.why.split(':')[0]}{_spent(cost)}" for cost in self.wasted]
        return " ".join([text, *(f"{part}." for part in parts)])


def useful(case: Case) -> Useful | None:
    """The useful share of a run; None where it has no samples with a fate."""
    samples, tokens = _total(case, "samples"), _total(case, "tokens")
    costs = [cost for reason in REASONS if (cost := _wasted(case, reason)) is not None]
    if not samples or not case.run.has("samples"):
        return None
    costs.sort(key=lambda cost: -cost.share)
    return Useful(1 - sum(cost.share for cost in costs), int(samples), int(tokens), tuple(costs))


def priced(findings: Sequence[Finding], case: Case) -> list[Finding]:
    """The findings, each with what it cost where that is known."""
    return [replace(finding, cost=_cost(finding, case)) for finding in findings]


def _cost(finding: Finding, case: Case) -> Cost | None:
    if finding.rule in WASTES:
        return _wasted(case, WASTES[finding.rule], finding.step, finding.until) or finding.cost
    about = case.about()
    part = _part_of_run(finding, about)
    if finding.rule == "plateau":
        return _with_hours(Cost(part, why="of the run's steps came after its best"), about)
    if finding.cost is None:
        return None
    return _with_hours(replace(finding.cost, share=finding.cost.share * part), about)


def _part_of_run(finding: Finding, about: About) -> float:
    """The share of the run's steps in which a finding holds."""
    last = about.last_step if finding.until is None else min(finding.until, about.last_step)
    return min(1.0, max(0, last - finding.step + 1) / (about.last_step + 1))


def _wasted(case: Case, reason: str, first: int | None = None, last: int | None = None) -> Cost | None:
    """What was lost for a reason between two steps, as a share of the run; None if nothing."""
    samples, tokens = (_total(case, f"{what}/{reason}", first, last) for what in ("samples", "tokens"))
    if not samples:
        return None
    whole = _total(case, "tokens")
    share = tokens / whole if whole else samples / _total(case, "samples")
    return _with_hours(Cost(share, int(samples), int(tokens), why=WHY[reason]), case.about())


def _total(case: Case, name: str, first: int | None = None, last: int | None = None) -> float:
    series = case.aggregate(name)
    if series is None:
        return 0.0
    inside = (series.step >= (-1 if first is None else first)) & (series.step <= (2**62 if last is None else last))
    return float(series.value[inside].sum())


def _with_hours(cost: Cost, about: About) -> Cost:
    if about.gpus is None or about.hours is None:
        return cost
    hours = cost.share * about.gpus * about.hours
    money = None if about.gpu_hour_price is None else hours * about.gpu_hour_price
    return replace(cost, gpu_hours=hours, money=money, currency=about.currency)


def _spent(cost: Cost) -> str:
    hours = f", {cost.gpu_hours:,.1f} GPU-hours" if cost.gpu_hours is not None else ""
    return hours + (f", {cost.money:,.0f} {cost.currency}".rstrip() if cost.money is not None else "")
