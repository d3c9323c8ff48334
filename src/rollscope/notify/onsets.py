"""What changed since a target was last told: findings that began, and findings that ended.

A rule is open from the notice that it began to the notice that it is over. A finding that is gone
for one look and back at the next has not ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rollscope.diagnose.finding import Finding

from .notice import Event, Notice

TOLD = ("bad", "watch")  # severities that people are told of
PATIENCE = 2  # looks without a finding before it counts as over


class Onsets:
    """Compares the findings of each look with what was told before."""

    def __init__(self, run: str, name: str, told: Iterable[Notice]) -> None:
        self._run, self._name = run, name
        self._ids: set[str] = set()
        self._open: dict[str, Notice] = {}
        self._missing: dict[str, int] = {}
        for notice in told:
            self._remember(notice)

    def look(self, findings: Sequence[Finding]) -> list[Notice]:
        """Notices to send now, in the order of steps."""
        rules: dict[str, list[Finding]] = {}
        for finding in sorted(findings, key=lambda finding: finding.step):
            if finding.severity in TOLD:
                rules.setdefault(finding.rule, []).append(finding)
        ended = [notice for rule in list(self._open) for notice in self._ended(rule, rules.get(rule, []))]
        began = [notice for some in rules.values() for finding in some for notice in self._began(finding)]
        return sorted([*ended, *began], key=lambda notice: notice.step)

    def _ended(self, rule: str, findings: Sequence[Finding]) -> Iterator[Notice]:
        """The notice that an open rule is over, if it is."""
        opened = self._open[rule]
        if any(finding.until is None for finding in findings):
            self._missing.pop(rule, None)
            return
        over = next((f for f in findings if f.until is not None and f.until >= opened.step), None)
        self._missing[rule] = self._missing.get(rule, 0) + 1
        if over is None and self._missing[rule] < PATIENCE:
            return
        fields = {name: getattr(opened, name) for name in Notice.__slots__ if name != "time_ns"}
        yield self._remember(Notice(**fields | {"event": "recovered", "until": over.until if over else None}))

    def _began(self, finding: Finding) -> Iterator[Notice]:
        """The notice that a finding began; with the one that it ended, if it came and went."""
        events: list[Event] = ["opened"] if finding.until is None else ["opened", "recovered"]
        notice = Notice.of(finding, events[0], self._run, self._name)
        if finding.rule in self._open or notice.id in self._ids:
            return
        for event in events:
            yield self._remember(Notice.of(finding, event, self._run, self._name))

    def _remember(self, notice: Notice) -> Notice:
        self._ids.add(notice.id)
        if notice.event == "opened":
            self._open[notice.rule] = notice
        else:
            self._open.pop(notice.rule, None)
            self._missing.pop(notice.rule, None)
        return notice
