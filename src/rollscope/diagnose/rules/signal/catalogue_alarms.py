"""Alarms that the catalogue states in its entries, where no rule of its own looks at the metric."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.catalog.spec import Alarm
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import RANK, Finding
from rollscope.diagnose.needs import CaseOf, SeriesOf, SeriesOrSamples
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.rule import RULES, Series, rule
from rollscope.views.dictionary import Meaning
from rollscope.views.health.vital_sign import sign_title

OPENING = 20  # points that show what is normal for this run
WIDTH = 5  # points whose median is the level
SECTIONS = (  # what the policy and its data do; efficiency and sizes have rules and pages of their own
    *("advantage", "critic", "filter", "length", "optimiser", "policy", "preference"),
    *("reward", "reward_model", "staleness", "tool", "turns"),
)
READ_TOGETHER = {  # entries beside which a rule of its own reads another
    *("policy/kl_sampler_k1", "policy/kl_ref_k1", "policy/entropy_sampled", "length/truncated", "length/not_ended"),
    *("preference/accuracy", "policy/logp", "optimiser/grad_norm_max", "policy/kl_ref_k3", "policy/entropy"),
}


@rule("catalogue-alarms", needs=(CaseOf(),))
def catalogue_alarms(case: Case, *, patience: float = 10) -> Iterator[Finding]:
    """A metric has crossed the alarm that its entry in the catalogue states, and stays there.

    The threshold and who found it stand in the glossary. Look at the entry's first checks, and at
    the step where it began.
    """
    elsewhere = _elsewhere()
    told: set[str] = set()  # a metric with several scopes is one alarm
    for meaning in case.meanings().values():
        entry = meaning.entry
        if entry is None or entry.section not in SECTIONS or {entry.name, meaning.name} & (elsewhere | told):
            continue
        if meaning.match is not None and meaning.match.scope == "discarded":
            continue  # it teaches nothing, and is often two samples a step
        alarms = [alarm for alarm in entry.alarms if alarm.stat in ("", meaning.stat)]
        series = case.series((meaning.name,)) if alarms else None
        found = [] if series is None else [f for a in alarms if (f := _crossed(meaning, a, series, int(patience)))]
        if found:
            told.add(entry.name)
            yield min(found, key=lambda finding: RANK[finding.severity])


def _elsewhere() -> set[str]:
    """Names that a rule of its own reads."""
    needs = [need for r in RULES.values() for need in r.needs if isinstance(need, SeriesOf | SeriesOrSamples)]
    return READ_TOGETHER | {name for need in needs for name in need.names}


def _crossed(meaning: Meaning, alarm: Alarm, series: Series, patience: int) -> Finding | None:
    limits = _limits(alarm, series)
    if limits is None or len(series) < patience:
        return None
    now = level(series.value, WIDTH)
    start = last_stretch((now < limits[0]) | (now > limits[1]))
    if len(now) - start < patience:
        return None
    entry = meaning.entry
    return Finding(
        step=int(series.step[start]),
        claim=f"{sign_title(meaning)}: {alarm.says or alarm.condition}",
        evidence=f"{now[-1]:.3g} now; the alarm is {alarm.condition}, from {alarm.source}.",
        severity=alarm.severity,
        metrics=(series.name,),
        check=entry.check if entry else (),
    )


def _limits(alarm: Alarm, series: Series) -> tuple[float, float] | None:
    """Below and above which the alarm rings; None if the run has no opening to compare with."""
    if isinstance(alarm.level, tuple):
        return alarm.level
    threshold = float(alarm.level)
    if alarm.when.endswith("times opening"):
        opening = float(np.median(series.value[:OPENING])) if len(series) > OPENING else 0.0
        if opening <= 0:
            return None
        threshold *= opening
    return (-np.inf, threshold) if alarm.when.startswith("above") else (threshold, np.inf)
