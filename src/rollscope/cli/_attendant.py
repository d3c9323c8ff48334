"""What a doctor that follows a run does: it tells people, and asks the run to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rollscope.diagnose import Finding, all_rules
from rollscope.errors import BadInput, nearest
from rollscope.notify.notifier import Notifier
from rollscope.notify.stop import CannotStop, ask_for
from rollscope.notify.target import target
from rollscope.store import notes

if TYPE_CHECKING:
    from rollscope.store.run import Run

PATIENCE_SECONDS = 60.0  # for targets, once the run has ended


class Attendant:
    """Targets and stopping rules of one run."""

    def __init__(self, run: Run, targets: Sequence[str], stop: Sequence[str], say: Callable[[str], None]) -> None:
        for rule in stop:
            _check_rule(rule)
        self._run, self._stop, self._say = run, frozenset(stop), say
        self._said: set[str] = set()
        name = str(run.facts.get("name") or run.id)
        self._notifier = Notifier(run.path, run.id, name, [target(text) for text in targets], say)

    def look(self, findings: Sequence[Finding], step: int) -> None:
        """Tell what changed, and ask for a stop if a rule that was named for it found something.

        `step` is the run's last one when it was diagnosed. It may have gone on since.
        """
        self._notifier.look(findings, step)
        for finding in findings:
            if finding.rule in self._stop:
                self._ask(finding)

    def _ask(self, finding: Finding) -> None:
        try:
            if request := ask_for(self._run, finding):
                self._say(f"asked {self._run.id} to stop: {request.why}")
        except CannotStop as error:
            self._cannot(finding, str(error))

    def _cannot(self, finding: Finding, why: str) -> None:
        """Say it once, and leave it in the run: the person who named the rule counts on it."""
        if finding.rule in self._said:
            return
        self._said.add(finding.rule)
        text = f"The rule {finding.rule} should stop the run, but {why}."
        self._say(text)
        if self._run.state == "running":
            notes.write(self._run.path, {"kind": "warning", "text": text, "step": finding.step})

    def close(self) -> None:
        self._notifier.close(PATIENCE_SECONDS)


def _check_rule(rule: str) -> None:
    rules = all_rules()
    if rule not in rules:
        known = "`rollscope doctor --rules` lists them"
        raise BadInput(f"there is no rule {rule!r} to stop on; {known}.{nearest(rule, rules)}")
