"""A JSON list of objects that may be cut off or damaged: the objects that are whole, and where the others were."""

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
    """The list in a file, or under `key` of the object in it; what could not be read is said, with the byte it begins at."""
    raw = path.read_bytes()
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return _damaged(raw.decode("utf-8-sig", "replace"), error, path, key)
    if key is not None and isinstance(found, dict):
        found = found.get(key)
    if not isinstance(found, list):
        raise SourceError(
            f"expected a list of log entries{'' if key is None else f', or an object with {key!r}'}, and found a {type(found).__name__}"
        )
    return found, []


def _damaged(text: str, error: Exception, path: Path, key: str | None) -> tuple[list[Any], list[Skipped]]:
    begin = text.find(f'"{key}"') if key is not None and text.lstrip()[:1] == "{" else 0
    begin = text.find("[", begin) if begin >= 0 else -1
    taken = list(objects(text, begin + 1)) if begin >= 0 else []
    if not any(isinstance(value, dict) for _, value in taken):
        raise SourceError(f"not valid JSON: {error}")
    skipped = [
        Skipped(f"an entry of the list is not valid JSON ({value}): it is left out", path, len(text[:at].encode()))
        for at, value in taken
        if isinstance(value, Exception)
    ]
    return [value for _, value in taken if not isinstance(value, Exception)], skipped


def objects(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """(place, object), or (place, error) for what is none; after an error it goes on where the next object begins."""
    while True:
        at = BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if at >= len(text) or text[at] == "]":
            return
        try:
            value, end = _decoder.raw_decode(text, at)
            yield at, value
            at = end
        except (ValueError, RecursionError) as error:
            yield at, error
            found = NEXT.search(text, at)
            if found is None:
                return
            at = found.end()
