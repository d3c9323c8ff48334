"""What an entry of the project log may say: each kind with its name and its value.

The name of an entry says what it is about. Where that takes several words they are joined with `/`,
and only the last may hold a `/` itself: `tag` has one entry per run and tag, so two people who tag
the same run at once both keep their tag. The value null takes the thing away.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rollscope.errors import BadInput, nearest
from rollscope.store import regular_file

LONGEST_NAME = 1000  # characters
LARGEST_VALUE = 1 << 20  # bytes of JSON
LONGEST_TEXT = 4000  # characters
LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entry: the words of its name, what it says, and why a value does not fit."""

    words: tuple[str, ...]
    says: str
    problem: Callable[[Any], str]


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _text(longest: int) -> Callable[[Any], str]:
    def problem(value: Any) -> str:
        fits = isinstance(value, str) and bool(value.strip()) and len(value) <= longest
        return "" if fits else f"a text of 1 to {longest:,} characters"

    return problem


def _words_or_nothing(value: Any) -> str:
    return "" if value is False else _text(LONGEST_TEXT)(value) and f"{_text(LONGEST_TEXT)(value)}, or false"


def _number(value: Any) -> str:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if fits else "a number"


def _mapping(value: Any) -> str:
    return "" if isinstance(value, dict) else "an object"


def _board(value: Any) -> str:
    panels = value.get("panels") if isinstance(value, dict) else None
    fits = isinstance(panels, list) and all(isinstance(panel, dict) for panel in panels)
    return "" if fits else 'an object with a list of objects under "panels"'


KINDS: dict[str, Kind] = {
    "tag": Kind(("run", "tag"), "true adds a tag to a run, false takes away one it was recorded with", _flag),
    "rename": Kind(("run",), "the name a run is shown under", _text(LONGEST_LABEL)),
    "note": Kind(("run",), "a few words about a run, for the list of runs", _text(LONGEST_TEXT)),
    "edit": Kind(("run", "note"), "a note of a run in other words; false leaves it out", _words_or_nothing),
    "archive": Kind(("run",), "true leaves a run out of lists", _flag),
    "bin": Kind(("run",), 'a run was deleted to the bin; "folder" is its place there', _mapping),
    "view": Kind(("view",), 'a saved view of the list of runs; "query" is what follows `?` in its address', _mapping),
    "board": Kind(("board",), 'a board; "panels" lists its charts, texts, samples and queries', _board),
    "query": Kind(("query",), "a saved SQL query", _text(LARGEST_VALUE)),
    "baseline": Kind(("project",), "the id of the run that others of the project are held against", _text(255)),
    "threshold": Kind(("rule", "threshold"), "a number that a rule uses instead of its own", _number),
    "star": Kind(("run", "sample"), "true stars a sample", _flag),
    "label": Kind(("run", "label", "sample"), "true puts a label on a sample", _flag),
    "comment": Kind(("run", "comment", "sample"), "words about a sample", _text(LONGEST_TEXT)),
    "set": Kind(("set", "run", "sample"), "true puts a sample into a set", _flag),
}


def check(kind: str, name: str, value: Any) -> None:
    """Raise BadInput if an entry of this kind cannot have this name and value."""
    known = KINDS.get(kind)
    if known is None:
        raise BadInput(f"unknown kind {kind[:80]!r}: it is one of {', '.join(KINDS)}.{nearest(kind, KINDS)}")
    if wrong := problem(kind, name, value):
        raise BadInput(f"{kind} {name[:80]!r} cannot be kept: {wrong}")


def problem(kind: str, name: str, value: Any) -> str:
    """Why an entry cannot be what it says; empty if it can. A kind that is unknown can be all."""
    known = KINDS.get(kind)
    if known is None:
        return ""
    words = split(kind, name)
    if len(words) != len(known.words) or not all(words) or len(name) > LONGEST_NAME:
        return f"its name must be {'/'.join(known.words).upper()}, in at most {LONGEST_NAME:,} characters"
    if value is not None and (wanted := known.problem(value)):
        return f"its value must be {wanted} (or null to take it away), and is {_short(value)}"
    return ""


def split(kind: str, name: str) -> list[str]:
    """The words of an entry's name, as `KINDS` lists them."""
    known = KINDS.get(kind)
    return [name] if known is None else name.split("/", len(known.words) - 1)


def check_json(value: Any) -> None:
    """Raise BadInput if a value is no JSON, too large or too deep. It may come from anywhere."""
    try:
        raw = json.dumps(value, allow_nan=False)
        regular_file.parsed(raw)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"the value cannot be kept as JSON: {error}") from None
    if len(raw) > LARGEST_VALUE:
        raise BadInput(f"the value is {len(raw):,} bytes of JSON; {LARGEST_VALUE:,} can be kept")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
