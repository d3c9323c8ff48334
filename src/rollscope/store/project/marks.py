"""What the project log says about each run: its name, tags and note, and if it is archived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .kinds import split
from .log import ProjectLog


@dataclass(slots=True)
class Marks:
    """What people said about one run."""

    name: str = ""  # empty: the name it was recorded with
    note: str = ""
    archived: bool = False
    tags: dict[str, bool] = field(default_factory=dict)  # tag -> added, or taken away

    def named(self, recorded: str) -> str:
        return self.name or recorded

    def tagged(self, recorded: Iterable[str]) -> list[str]:
        """The tags of a run: those it was recorded with that were kept, then those added."""
        kept = [tag for tag in recorded if self.tags.get(tag, True)]
        return kept + sorted(tag for tag, added in self.tags.items() if added and tag not in kept)


NONE = Marks()


def marks(log: ProjectLog) -> dict[str, Marks]:
    """Run id -> what is said about it. A run that nobody spoke of is not there."""
    found: dict[str, Marks] = {}
    for id, name in log.current("rename").items():
        found.setdefault(id, Marks()).name = name
    for id, note in log.current("note").items():
        found.setdefault(id, Marks()).note = note
    for id, archived in log.current("archive").items():
        found.setdefault(id, Marks()).archived = archived
    for name, added in log.current("tag").items():
        id, tag = split("tag", name)
        found.setdefault(id, Marks()).tags[tag] = added
    return found


def marked(record: dict[str, Any], said: Marks) -> dict[str, Any]:
    """A record of a run with the name and the tags that people gave it."""
    if said is NONE:
        return record
    tags = record.get("tags")
    recorded = [str(tag) for tag in tags] if isinstance(tags, list) else []
    return {**record, "name": said.named(record.get("name") or ""), "tags": said.tagged(recorded)}
