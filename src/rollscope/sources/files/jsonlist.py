"""Read a JSON list of objects that may be cut off or damaged: every readable object is returned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources import Skipped, SourceError

NEXT = re.compile(r"\}\s*,\s*(?=\{)")  # where one object ends and another begins
BETWEEN = re.compile(r"[\s,]*")
_decoder = json.JSONDecoder()


def read(path: Path, key: str | None = None) -> tuple[list[Any], list[Skipped]]:
    """The list in a file, or under `key` of the object in it, and its unreadable entries."""
    raw = path.read_bytes()
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return _damaged(raw.decode("utf-8-sig", "replace"), error, path, key)
    if key is not None and isinstance(value, dict):
        value = value.get(key)
    if not isinstance(value, list):
        expected = "a list of log entries" if key is None else f"a list of log entries, or an object with {key!r}"
        raise SourceError(f"expected {expected}, got a {type(value).__name__}")
    return value, []


def _damaged(text: str, error: Exception, path: Path, key: str | None) -> tuple[list[Any], list[Skipped]]:
    begin = text.find(f'"{key}"') if key is not None and text.lstrip()[:1] == "{" else 0
    begin = text.find("[", begin) if begin >= 0 else -1
    entries = list(objects(text, begin + 1)) if begin >= 0 else []
    if not any(isinstance(value, dict) for _, value in entries):
        raise SourceError(f"not valid JSON: {error}")
    skipped, before, offset = list[Skipped](), 0, 0
    for at, value in entries:
        if isinstance(value, Exception):
            before, offset = at, offset + len(text[before:at].encode("utf-8", "replace"))
            skipped.append(Skipped(f"an entry of the list is not valid JSON ({value}): left out", path, offset))
    return [value for _, value in entries if not isinstance(value, Exception)], skipped


def objects(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """Yield (position, object), or (position, error) and go on at the next object."""
    while True:
        at = BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it always matches
        if at >= len(text) or text[at] == "]":
            return
        try:
            value, end = _decoder.raw_decode(text, at)
            yield at, value
            at = end
        except (ValueError, RecursionError) as error:
            yield at, error
            boundary = NEXT.search(text, at)
            if boundary is None:
                return
            at = boundary.end()
