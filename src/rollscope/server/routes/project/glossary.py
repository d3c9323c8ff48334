"""The catalogue over HTTP: every number in every framework's words, and what to look at when."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rollscope.server.reply import as_json
from rollscope.views.glossary import Answer, FoundEntry, Glossary, entry_of, found_entry, glossary

router = APIRouter(tags=["glossary"])
Dialect = Annotated[str | None, Query(max_length=80)]


@router.get("/glossary")
@as_json
def index() -> Glossary:
    """Every entry in short, what to watch by scenario, what to check by symptom."""
    return glossary()


@router.get("/glossary/find")
@as_json
def find(name: Annotated[str, Query(max_length=400)], dialect: Dialect = None) -> FoundEntry:
    """Which entry a name opens, if any: the one that `rollscope explain` prints."""
    return found_entry(name, dialect)


@router.get("/glossary/entry")
@as_json
def entry(name: Annotated[str, Query(max_length=400)], dialect: Dialect = None) -> Answer:
    """The entry behind a name: ours, or any framework's (`actor/ppo_kl`)."""
    return entry_of(name, dialect)
