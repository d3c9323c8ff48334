"""The answer of the Runs page, put together from rows that are encoded once and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rollscope.store.listing.index import Row
from rollscope.store.project.marks import NONE, Marks
from rollscope.strict_json import encode
from rollscope.views.summary.run_row import colour_slots

CHANGING = ("state", "heard_ns", "slot", "findings", "name", "note", "archived", "tags")  # added for each answer
FACTS = ("id", "project", "started_ns", "recorded_name", "tags")


@dataclass(frozen=True, slots=True)
class Kept:
    """A row: its JSON without the fields of `CHANGING`, and what an answer needs of it."""

    facts: dict[str, Any]  # the fields of `FACTS`
    state: str
    heard_ns: float
    body: bytes
    usual: bytes  # state and the fields people can change, as they are if nobody changed them
    row: Row  # without its value: the marks by which it is known to be current

    def whole(self) -> dict[str, Any]:
        """The row again, with its state, without the other fields of `CHANGING`."""
        return {**json.loads(self.body + b"}"), "state": self.state}


def kept_row(row: Any, indexed: Row | None) -> Kept:
    """A row as it is kept; with the marks of the index if the run is over."""
    lasting = {name: value for name, value in row.items() if name not in CHANGING}
    facts = {name: row[name] for name in FACTS}
    marks = Row((), (), {}, {}) if indexed is None else indexed.without_value()
    usual = _fields({"state": row["state"], **people(facts, NONE)})
    return Kept(facts, row["state"], row["heard_ns"], encode(lasting, compact=True)[:-1], usual, marks)


def page(
    rows: list[Kept],
    pending: int,
    folder: str,
    said: Mapping[str, Marks],
    findings: Callable[[str], Any],
    newest: int | None = None,
) -> bytes:
    """The answer of the Runs page: rows, newest first, with their colours, marks and findings.

    All of them, or the `newest` ones; the others are pending then.
    """
    slots = colour_slots([kept.facts for kept in rows])
    ordered = sorted(rows, key=lambda kept: (-kept.facts["started_ns"], kept.facts["id"]))[:newest]
    parts = [_whole(kept, slots[id], said.get(id, NONE), findings(id)) for kept in ordered if (id := kept.facts["id"])]
    tail = encode({"folder": folder, "pending": pending + len(rows) - len(ordered)}, compact=True)
    return b'{"runs":[' + b",".join(parts) + b"]," + tail[1:]


def _whole(kept: Kept, slot: int, said: Marks, findings: Any) -> bytes:
    usual = kept.usual if said is NONE else _fields({"state": kept.state, **people(kept.facts, said)})
    found = b"null" if findings is None else _counts_json(tuple(findings.items()))
    return b'%s,"heard_ns":%.1f,"slot":%d,"findings":%s,%s}' % (kept.body, kept.heard_ns, slot, found, usual)


@lru_cache(maxsize=1024)
def _counts_json(counts: tuple[tuple[str, int], ...]) -> bytes:
    return encode(dict(counts), compact=True)


def _fields(values: dict[str, Any]) -> bytes:
    """Members of a JSON object without its braces."""
    return encode(values, compact=True)[1:-1]


def people(facts: Mapping[str, Any], said: Marks) -> dict[str, Any]:
    """The fields of a row that people can change."""
    name, tags = said.named(facts["recorded_name"]), said.tagged(facts["tags"])
    return {"name": name, "note": said.note, "archived": said.archived, "tags": tags}
