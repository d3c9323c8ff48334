"""One line of the project log: a JSON object that ends with the checksum of what stands before.

`{"id": ..., "time_ns": ..., "author": ..., "kind": ..., "name": ..., "value": ..., "crc": ...}`; an
entry that undoes others has `"undoes": [ids]` instead of kind, name and value. One whose author saw
some projects alone has `"projects": [names]`.
"""

from __future__ import annotations

import json
import secrets
import time
import zlib
from dataclasses import dataclass
from typing import Any

from rollscope.store import regular_file

from . import kinds


@dataclass(frozen=True, slots=True)
class Entry:
    """What someone said about a thing, or that some entries are to be undone."""

    id: str
    time_ns: int
    author: str
    kind: str = ""
    name: str = ""
    value: Any = None
    undoes: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()  # that its author could see; empty: all

    def shape(self) -> dict[str, Any]:
        """The entry as JSON, in the order of its line."""
        about: dict[str, Any] = {"undoes": list(self.undoes)}
        if not self.undoes:
            about = {"kind": self.kind, "name": self.name, "value": self.value}
        return {"id": self.id, "time_ns": self.time_ns, "author": self.author, **about}


def new(author: str, kind: str = "", name: str = "", value: Any = None, undoes: tuple[str, ...] = ()) -> Entry:
    """An entry of this moment, with an id of its own."""
    return Entry(secrets.token_hex(8), time.time_ns(), author, kind, name, value, undoes)


def line(entry: Entry) -> bytes:
    """An entry as a line in ASCII, so that no text of it can end the line."""
    seen = {"projects": list(entry.projects)} if entry.projects else {}
    body = json.dumps({**entry.shape(), **seen}, allow_nan=False, separators=(",", ":"))[:-1].encode()
    return b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def parsed(raw: bytes) -> Entry:
    """The entry in a line. A ValueError says why there is none."""
    body, mark, end = raw.rpartition(b',"crc":')
    if not mark or end != b'"%08x"}' % zlib.crc32(body):
        raise ValueError("its checksum does not fit, so it was cut or changed")
    return _checked(regular_file.parsed(body + b"}"))


def _checked(fields: dict[str, Any]) -> Entry:
    undoes, projects = _texts(fields, "undoes", "ids"), _texts(fields, "projects", "names")
    wanted = {"id": str, "time_ns": int, "author": str} | ({} if undoes else {"kind": str, "name": str})
    for field, type_ in wanted.items():
        if not isinstance(fields.get(field), type_):
            raise ValueError(f'"{field}" is missing or has the wrong type')
    if not 0 <= fields["time_ns"] < 2**63:
        raise ValueError('"time_ns" is no time')
    known = {field: fields[field] for field in wanted}
    entry = Entry(**known, value=fields.get("value"), undoes=undoes, projects=projects)
    if wrong := kinds.problem(entry.kind, entry.name, entry.value):
        raise ValueError(f"{entry.kind} {entry.name[:80]!r}: {wrong}")
    return entry


def _texts(fields: dict[str, Any], name: str, of: str) -> tuple[str, ...]:
    """The texts that a field lists; none if it is not there."""
    found = fields.pop(name, [])
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError(f'"{name}" is no list of {of}')
    return tuple(found)
