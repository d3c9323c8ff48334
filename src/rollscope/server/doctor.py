"""Findings of a run, diagnosed here and kept until the run has grown; what a person said is not a problem is marked hidden."""

from __future__ import annotations

import importlib
import logging
import threading
import time

import rollscope.diagnose as room
from rollscope.diagnose.rule import RULES, Finding, Rule
from rollscope.server.library import Library
from rollscope.server.shapes import FindingShape
from rollscope.store.run import Run

log = logging.getLogger("rollscope.server")
PATIENCE = 4.0  # seconds between two diagnoses of a run that grows


def rules() -> dict[str, Rule]:
    """Every rule there is."""
    importlib.import_module("rollscope.diagnose.rules")  # fills RULES
    return RULES


class Doctor:
    """One diagnosis at a time per run, not more often than people can read."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._found: dict[str, tuple[int, float, list[Finding]]] = {}
        self._lock = threading.Lock()

    def findings(self, id: str, run: Run) -> list[Finding]:
        """What is wrong with a run. The caller is reading it."""
        kept = self._found.get(id)
        if kept and (kept[0] == run.folder.version or time.monotonic() - kept[1] < PATIENCE):
            return kept[2]
        room.rules = rules  # importing the folder `rules` hides the function of that name in its package
        try:
            found = list(room.diagnose(run))
        except Exception:  # a rule that fails must not take the run's pages with it; what it would have said is missing, and the log says why
            log.exception("the diagnosis of %s failed", id)
            found = []
        with self._lock:
            self._found[id] = (run.folder.version, time.monotonic(), found)
        return found

    def known(self, id: str) -> list[Finding] | None:
        """What was found last, without looking again."""
        kept = self._found.get(id)
        return kept[2] if kept else None


def shape(finding: Finding, hidden: frozenset[str] = frozenset()) -> FindingShape:
    rule = RULES.get(finding.rule)
    return {
        "rule": finding.rule,
        "title": finding.title or finding.claim,
        "severity": finding.severity,
        "step": int(finding.step),
        "until": None if finding.until is None else int(finding.until),
        "claim": finding.claim,
        "evidence": finding.evidence,
        "metrics": list(finding.metrics),
        "check": list(finding.check),
        "samples": finding.samples,
        "teaches": rule.teaches if rule else "",
        "hidden": finding.rule in hidden,
    }
