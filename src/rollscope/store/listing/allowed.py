"""Which runs someone may see: those of some projects, and some by their ids.

A store that is opened for someone lists and opens these runs alone. A run whose `run.json` does not
say its project is seen only by those who may see everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rollscope.store import run_json

from .entries import Entry, Marks


@dataclass(frozen=True, slots=True)
class Allowed:
    """The projects, the single runs and the single boards that someone may see."""

    projects: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    boards: frozenset[str] = frozenset()


@dataclass(slots=True)
class Sight:
    """Tells whether a run is allowed. It remembers projects as long as `run.json` is the same."""

    allowed: Allowed
    _known: dict[str, tuple[Marks, bool]] = field(default_factory=dict)  # path -> marks of `run.json`, answer

    def sees(self, entry: Entry) -> bool:
        known = self._known.get(entry.path)
        if known is None or known[0] != entry.marks[1:]:
            known = self._known[entry.path] = entry.marks[1:], self._looked(entry)
        return known[1]

    def _looked(self, entry: Entry) -> bool:
        if entry.id in self.allowed.runs:
            return True
        facts, damage = run_json.read(entry.path)
        return bool(facts) and not damage and str(facts.get("project") or "") in self.allowed.projects
