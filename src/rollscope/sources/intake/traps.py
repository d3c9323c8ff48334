"""What is known to be different about a framework's number, said as notes on the run. Nothing is corrected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollscope.catalog.names.resolve import resolve
from rollscope.errors import RollscopeError
from rollscope.sources import Records, RunStart


def notes(run: RunStart, names: Iterable[str]) -> Iterator[Records]:
    """One note for each series that the catalogue has something to say about: a warning where it is another quantity than the one of ours it stands beside."""
    dialect = run.facts.get("framework")
    if not dialect:
        return
    time_ns = int(run.facts.get("ended_ns") or run.facts.get("started_ns") or 0)
    found = [_note(name, str(dialect), time_ns) for name in sorted(names)]
    if rows := [row for row in found if row]:
        yield Records("notes", rows)


def _note(name: str, dialect: str, time_ns: int) -> dict[str, object] | None:
    try:
        found = resolve(name, dialect)
    except RollscopeError:
        return None
    if found.via is None or not found.via.note:
        return None
    return {
        "text": f"{name}: {found.via.note}",
        "kind": "note" if found.via.same else "warning",
        "time_ns": time_ns,
        "data": {"metric": name, "beside": found.name, "dialect": dialect},
    }
