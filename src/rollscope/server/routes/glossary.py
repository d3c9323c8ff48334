"""The catalogue over HTTP: what every number is, in every framework's words, and what to look at when something is wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

import rollscope.catalog.families  # noqa: F401  # fills the catalogue
from rollscope.catalog.guidance import SCENARIOS, SYMPTOMS
from rollscope.catalog.names.match import name_json
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.spec import METRICS, Metric
from rollscope.server.reply import as_json
from rollscope.server.shapes import Answer, EntryShape, Glossary

router = APIRouter(tags=["glossary"])


@router.get("/glossary")
@as_json
def index() -> Glossary:
    """Every entry in short, what to watch by scenario, what to check by symptom."""
    return {
        "entries": [
            {
                "name": m.name,
                "section": m.section,
                "meaning": m.meaning,
                "unit": m.unit,
                "also": sorted({n.key for n in m.names}),
            }
            for m in METRICS.values()
        ],
        "scenarios": [asdict(s) for s in SCENARIOS],
        "symptoms": [asdict(s) for s in SYMPTOMS],
    }


@router.get("/glossary/entry")
@as_json
def entry(
    name: Annotated[str, Query(max_length=400)], dialect: Annotated[str | None, Query(max_length=80)] = None
) -> Answer:
    """The entry behind a name: ours, or any framework's (`actor/ppo_kl`)."""
    found = resolve(name, dialect)
    return {
        "entry": whole(found.entry),
        "asked": name,
        "name": found.name,
        "stat": found.stat,
        "scope": found.scope,
        "via": name_json(found.via) if found.via else None,
    }


def whole(m: Metric) -> EntryShape:
    return {
        "name": m.name,
        "section": m.section,
        "meaning": m.meaning,
        "definition": m.definition,
        "unit": m.unit,
        "kind": m.kind,
        "good": m.good,
        "read": m.read,
        "check": list(m.check),
        "example": m.example,
        "range": list(m.range),
        "healthy": list(m.healthy),
        "stats": list(m.stats),
        "scoped": m.scoped,
        "producer": m.producer,
        "needs": list(m.needs),
        "alarms": [_alarm(a) for a in m.alarms],
        "names": [{**name_json(n), "stat": n.stat} for n in m.names],
    }


def _alarm(alarm: Any) -> dict[str, Any]:
    found = asdict(alarm)
    return {**found, "level": list(alarm.level) if isinstance(alarm.level, tuple) else [alarm.level]}
