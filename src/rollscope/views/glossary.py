"""The catalogue as JSON: every entry in every framework's words, and what to look at when."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

import rollscope.catalog.families  # noqa: F401  # fills the catalogue
from rollscope.catalog.guidance import SCENARIOS, SYMPTOMS
from rollscope.catalog.names.match import name_json
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.spec import METRICS, Alarm, Metric
from rollscope.errors import RollscopeError


class EntryShape(TypedDict):
    """One entry of the glossary."""

    name: str
    section: str
    meaning: str
    definition: str
    unit: str
    kind: str
    good: str
    read: str
    check: list[str]
    example: str
    range: list[float | None]
    healthy: list[float | None]
    stats: list[str]
    scoped: bool
    producer: str
    needs: list[str]
    alarms: list[dict[str, Any]]
    names: list[dict[str, Any]]


class EntryRow(TypedDict):
    name: str
    section: str
    meaning: str
    unit: str
    also: list[str]


class Glossary(TypedDict):
    entries: list[EntryRow]
    scenarios: list[dict[str, Any]]
    symptoms: list[dict[str, Any]]


class Answer(TypedDict):
    """The glossary entry behind a name of any framework."""

    entry: EntryShape
    asked: str
    name: str
    stat: str
    scope: str
    via: dict[str, Any] | None


class FoundEntry(TypedDict):
    """The name of the entry behind a name; if there is none, a sentence that says so."""

    asked: str
    entry: str
    says: str


def glossary() -> Glossary:
    """Every entry in short, what to watch by scenario, what to check by symptom."""
    return {
        "entries": [_row(entry) for entry in METRICS.values()],
        "scenarios": [asdict(scenario) for scenario in SCENARIOS],
        "symptoms": [asdict(symptom) for symptom in SYMPTOMS],
    }


def entry_of(name: str, dialect: str | None = None) -> Answer:
    """The entry behind a name, ours or a framework's."""
    match = resolve(name, dialect)
    return {
        "entry": entry_json(match.entry),
        "asked": name,
        "name": match.name,
        "stat": match.stat,
        "scope": match.scope,
        "via": name_json(match.via) if match.via else None,
    }


def found_entry(name: str, dialect: str | None = None) -> FoundEntry:
    """Which entry `explain` opens for a name; none if it has no meaning, or several."""
    try:
        return {"asked": name, "entry": resolve(name, dialect).entry.name, "says": ""}
    except RollscopeError as error:
        return {"asked": name, "entry": "", "says": str(error)}


def _row(entry: Metric) -> EntryRow:
    also = sorted({name.key for name in entry.names})
    return {"name": entry.name, "section": entry.section, "meaning": entry.meaning, "unit": entry.unit, "also": also}


def entry_json(entry: Metric) -> EntryShape:
    return {
        "name": entry.name,
        "section": entry.section,
        "meaning": entry.meaning,
        "definition": entry.definition,
        "unit": entry.unit,
        "kind": entry.kind,
        "good": entry.good,
        "read": entry.read,
        "check": list(entry.check),
        "example": entry.example,
        "range": list(entry.range),
        "healthy": list(entry.healthy),
        "stats": list(entry.stats),
        "scoped": entry.scoped,
        "producer": entry.producer,
        "needs": list(entry.needs),
        "alarms": [_alarm(alarm) for alarm in entry.alarms],
        "names": [{**name_json(name), "stat": name.stat} for name in entry.names],
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    level = list(alarm.level) if isinstance(alarm.level, tuple) else [alarm.level]
    return {**asdict(alarm), "level": level}
