"""Write the catalogue's warnings about a framework's numbers into the run. No number is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollscope.catalog.names.resolve import lookup
from rollscope.errors import RollscopeError
from rollscope.sources import Records, RunStart


def notes(run: RunStart, names: Iterable[str]) -> Iterator[Records]:
    """One note for each series that has one in the catalogue.

    It is a warning if the framework's number is another quantity than ours beside it.
    """
    dialect = run.facts.get("framework")
    if not dialect:
        return
    time_ns = int(run.facts.get("ended_ns") or run.facts.get("started_ns") or 0)
    if rows := [note for name in sorted(names) if (note := _note(name, str(dialect), time_ns))]:
        yield Records("notes", rows)


def _note(name: str, dialect: str, time_ns: int) -> dict[str, object] | None:
    try:
        meaning = lookup(name, dialect)
    except RollscopeError:
        return None
    if meaning is None or meaning.via is None or not meaning.via.note:
        return None
    return {
        "text": f"{name}: {meaning.via.note}",
        "kind": "note" if meaning.via.same else "warning",
        "time_ns": time_ns,
        "data": {"metric": name, "beside": meaning.name, "dialect": dialect},
    }
