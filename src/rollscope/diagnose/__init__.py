"""Rules read a run and yield findings. `diagnose(run)` runs every rule.

Findings are sorted by severity, then liveness, environment, waste, signal, tuning; tuning advice
waits while anything is bad. Each names its cause among the others. Door: `diagnose`, `diagnosis`,
`all_rules`, `Finding`, `story`; then `hidden`. Server and command line look in.
"""

from __future__ import annotations

from dataclasses import replace

from rollscope.diagnose.own.project import with_project
from rollscope.diagnose.reading.case import Case
from rollscope.errors import BadInput
from rollscope.store.run import Run

from .engine import Diagnosis, Settings, Skipped, examine
from .finding import Advice, Cost, Finding
from .life import alive
from .rule import RULES, Rule, Series
from .story import Chapter, story
from .thresholds import FILE, thresholds
from .thresholds import settings as chosen

__all__ = [
    "Advice",
    "Case",
    "Chapter",
    "Cost",
    "Diagnosis",
    "Finding",
    "Rule",
    "Series",
    "Settings",
    "Skipped",
    "all_rules",
    "diagnose",
    "diagnosis",
    "story",
    "whole_diagnosis",
]


def all_rules() -> dict[str, Rule]:
    """Every rule by name. The function cannot be called `rules`: that is the folder."""
    import rollscope.diagnose.rules  # noqa: F401  # fills RULES

    return RULES


def diagnosis(run: Run, until: int | None = None, settings: Settings | None = None) -> Diagnosis:
    """What every rule says, and which rules could not look. `until` asks as of an earlier step.

    Findings of the run as it is have their life, and what has recovered stands beside them.
    """
    case = Case.of(run)
    if until is not None or settings is not None:
        return examine(case if until is None else case.until(until), all_rules(), settings)
    return alive(_with_thresholds(case), run)


def whole_diagnosis(run: Run) -> Diagnosis:
    """The diagnosis with what the trusted rules of the run's project say, too."""
    return alive(with_project(diagnosis(run), run.path), run)


def _with_thresholds(case: Case) -> Diagnosis:
    """What every rule says with the thresholds of the project, which the findings then name."""
    try:
        given = thresholds(case.run.path, all_rules())
    except BadInput as error:
        told = examine(case, all_rules())
        claim = "The thresholds of this project cannot be read, so ours hold"
        broken = Finding(
            step=0, claim=claim, evidence=str(error), severity="info", rule=FILE, title=claim, order="tuning"
        )
        return replace(told, findings=[*told.findings, broken])
    told = examine(case, all_rules(), chosen(given))
    findings = [replace(f, thresholds=tuple(t.sentence for t in given if t.rule == f.rule)) for f in told.findings]
    return replace(told, findings=findings, thresholds=[f"{t.rule}: {t.sentence}" for t in given])


def diagnose(run: Run) -> list[Finding]:
    """The findings of every rule that has what it needs, worst and earliest first."""
    return diagnosis(run).findings
