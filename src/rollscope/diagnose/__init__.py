"""Rules read a run and yield findings. `diagnose(run)` runs every rule.

Findings are sorted by severity, then liveness, environment, waste, signal, tuning; tuning advice
waits while anything is bad. Each names its cause among the others. Door: `diagnose`, `diagnosis`,
`all_rules`, `Finding`, `story`; then `hidden`. Server and command line look in.
"""

from __future__ import annotations

from rollscope.diagnose.reading.case import Case
from rollscope.store.run import Run

from .engine import Diagnosis, Settings, Skipped, examine
from .finding import Advice, Cost, Finding
from .life import alive
from .rule import RULES, Rule, Series
from .story import Chapter, story

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
    if until is not None:
        return examine(case.until(until), all_rules(), settings)
    return alive(examine(case, all_rules(), settings), run)


def diagnose(run: Run) -> list[Finding]:
    """The findings of every rule that has what it needs, worst and earliest first."""
    return diagnosis(run).findings
