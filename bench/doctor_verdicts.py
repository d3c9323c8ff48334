"""What our doctor says of a run, and how soon it said it; kept until the rules change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rollscope
from doctor_faults import RIGHT
from doctor_runs import Patient
from rollscope.diagnose import Case, Finding, all_rules, diagnosis, story
from rollscope.store.run import Run

EVERY = 20  # steps after which a healthy run is judged, again and again
READ = ("diagnose", "views", "statistics", "catalog")  # the houses that decide what is said


def code() -> str:
    """A name for the rules as they are."""
    digest, house = hashlib.sha256(), Path(rollscope.__file__).parent
    for name in READ:
        for file in sorted((house / name).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def verdict(patient: Patient, kept: Path, rules: str) -> dict[str, Any]:
    """The verdict on a run: read from `kept` if the same rules made it."""
    file = kept / f"{patient.id}.json"
    if file.exists() and (known := json.loads(file.read_text()))["rules"] == rules:
        return dict(known)
    made = {"rules": rules, **judged(patient)}
    kept.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(made))
    return made


def judged(patient: Patient) -> dict[str, Any]:
    """The rules that begin a chapter, all serious findings, the run's steps, and the delay.

    Of a healthy run also what was said during the run.
    """
    run, right = patient.open(), RIGHT[patient.fault]
    serious = _serious(diagnosis(run).findings)
    last = int(run.last_step or 0)
    roots = _roots(serious)
    said: dict[str, Any] = {"roots": roots, "said": [f"{f.severity} {f.rule}" for f in serious], "steps": last + 1}
    if not right:
        said["during"] = _during(run, last, said["said"])
    if not roots or roots[0] not in right:
        return said
    first = next(f for f in serious if f.rule == roots[0])
    there = max(patient.start, _shown(run, first), _needs_are_there(run, roots[0], last))

    def leads(step: int) -> bool:
        return _roots(_serious(diagnosis(run, until=step).findings))[:1] == roots[:1]

    named = _first(there, last, leads)
    soonest = _first(patient.start, there, leads) if named == there else named  # may be known before its onset is
    return {**said, "delay": named - there, "since_start": soonest - patient.start}


def _during(run: Run, last: int, at_the_end: list[str]) -> list[str]:
    """Every alarm that was ever raised, each once, as bad as it became."""
    said = [*at_the_end]
    for step in range(EVERY - 1, last, EVERY):
        said += [f"{f.severity} {f.rule}" for f in _serious(diagnosis(run, until=step).findings)]
    worst = {words.split()[1]: words for words in sorted(said, reverse=True)}  # "bad" comes after "watch"
    return [*worst.values()]


def _shown(run: Run, finding: Finding) -> int:
    """The step at which what a finding says can be seen: its rule declares how much it must see."""
    declared = all_rules()[finding.rule].thresholds
    if finding.moments and "count" in declared:
        return finding.moments[min(int(declared["count"]), len(finding.moments)) - 1]
    if "lasting" in declared:  # evaluations, the first one of the finding among them
        later = sorted({step for e in Case.of(run).evaluations() for step in e.series.step.tolist()} | {finding.step})
        return later[min(later.index(finding.step) + int(declared["lasting"]), len(later)) - 1]
    if "behind" in declared:  # a share of the run without any gain
        return round(finding.step / (1 - declared["behind"]))
    return finding.step


def _serious(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity != "info"]


def _roots(findings: list[Finding]) -> list[str]:
    return [chapter.finding.rule for chapter in story(findings)]


def _needs_are_there(run: Run, rule: str, last: int) -> int:
    """The first step at which the rule has all that it declares to need."""
    needs, case = all_rules()[rule].needs, Case.of(run)
    return _first(0, last, lambda step: all(need.read(case.until(step)) is not None for need in needs))


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first step from which something holds, by halving: it holds at the last one."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
