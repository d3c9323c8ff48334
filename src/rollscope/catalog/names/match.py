"""The result of looking a name up: the entry, and which part of the entry the name means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rollscope.catalog.spec import Alarm, Metric, Name

from .dialect import dialect_of

EVALUATION = ("eval/", "eval_", "test/")  # before a training name, they mean its evaluation


@dataclass(frozen=True, slots=True)
class Match:
    """An entry and the part of it that a name means. It has the attributes of the entry, too."""

    entry: Metric
    name: str  # ours, filled in: `reward/generated/mean`
    stat: str = ""
    scope: str = ""
    bindings: Mapping[str, str] = ()  # type: ignore[assignment]  # an empty, immutable mapping
    via: Name | None = None  # the framework's name that matched
    also: tuple[str, ...] = ()  # the other names that a `*` matches
    before: str = ""  # the prefix of the framework's name: `train/`, `eval_`, ...

    def __getattr__(self, attribute: str) -> Any:
        return getattr(object.__getattribute__(self, "entry"), attribute)

    @property
    def same(self) -> bool:
        """Whether the name means our number, up to its stated scale."""
        return self.via is None or self.via.same

    @property
    def evaluation(self) -> bool:
        """Whether the name is a training name with a prefix that means an evaluation."""
        return self.before in EVALUATION

    def json(self) -> dict[str, Any]:
        e = self.entry
        return {
            "name": self.name,
            "entry": e.name,
            "stat": self.stat or None,
            "scope": self.scope or None,
            "meaning": e.meaning,
            "definition": e.definition,
            "unit": e.unit,
            "kind": e.kind,
            "good": e.good,
            "range": list(e.range),
            "healthy": list(e.healthy),
            "read": e.read,
            "check": list(e.check),
            "example": e.example,
            "needs": list(e.needs),
            "producer": e.producer,
            "alarms": [_alarm_json(a) for a in e.alarms],
            "names": [name_json(n) for n in e.names],
            "asked_as": name_json(self.via) if self.via else None,
            "also": list(self.also),
        }


def _alarm_json(a: Alarm) -> dict[str, Any]:
    return {
        "condition": a.condition,
        "when": a.when,
        "level": a.level,
        "severity": a.severity,
        "says": a.says,
        "source": a.source,
        "stat": a.stat,
    }


def name_json(n: Name) -> dict[str, Any]:
    return {"dialect": dialect_of(n), "key": n.key, "same": n.same, "scale": n.scale, "note": n.note}
