"""Strict JSON, for every file and every reply that Rollscope writes.

JSON has no NaN and no infinity. They are written as the words "NaN", "Infinity" and "-Infinity",
which `float()` and SQL casts read back. `null` means no data. UTF-8 cannot carry a lone surrogate:
it is written as its escape, or as a question mark where a person reads the text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

Number = float | Literal["NaN", "Infinity", "-Infinity"] | None


def number(value: Any) -> Number:
    """A float as JSON can carry it. None stays None."""
    if value is None:
        return None
    value = float(value)
    if math.isfinite(value):
        return float(value)
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def plain(value: Any, surrogates: bool = False) -> Any:
    """The value made of what JSON has: mappings, lists, texts, finite numbers, booleans, None.

    Arrays, tensors and their scalars become lists and numbers, NaN and infinities become words,
    sets become sorted lists of texts, and any other object becomes text. A lone surrogate becomes a
    question mark; `surrogates=True` keeps it, for writers that escape it.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value if surrogates or not has_surrogate(value) else value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else number(value)
    if isinstance(value, Mapping):
        return {plain(str(key), surrogates): plain(item, surrogates) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, surrogates) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), surrogates)
    return plain(sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value), surrogates)


def has_surrogate(text: str) -> bool:
    """Does the text hold a lone surrogate, which UTF-8 cannot carry?"""
    return any("\ud800" <= character <= "\udfff" for character in text)


def parsed(text: str) -> Any:
    """The value of a JSON text. A text that is no JSON is itself: a reader goes on."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def dumps(value: Any) -> str:
    """Any value as one line of strict JSON.

    Lone surrogates stay in the text; `encode` escapes them.
    """
    if type(value) is dict and (text := _names_and_numbers(value)) is not None:
        return text
    try:
        return _ENCODER.encode(value)
    except (ValueError, TypeError):
        return json.dumps(plain(value, surrogates=True), allow_nan=False, ensure_ascii=False)


def _names_and_numbers(value: dict[Any, Any]) -> str | None:
    """The JSON of names and finite floats, as rewards by part are, in a third of the time."""
    numbers = value.values()
    if {*map(type, numbers)} != {float} or not math.isfinite(sum(numbers)) or {*map(type, value)} != {str}:
        return None
    return "{" + ", ".join([name + repr(n) for name, n in zip(_names(tuple(value)), numbers, strict=True)]) + "}"


@lru_cache(256)
def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{_ENCODER.encode(name)}: " for name in names)


def encode(value: Any, compact: bool = False) -> bytes:
    """Any value as strict JSON in UTF-8, with lone surrogates as their escapes."""
    encoder = _COMPACT if compact else _ENCODER
    try:
        text = encoder.encode(value)
    except (ValueError, TypeError):
        value = plain(value, surrogates=True)
        text = encoder.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, default=_default, separators=(",", ":") if compact else None).encode()


def _default(value: Any) -> Any:
    return plain(value, surrogates=True)


# Built once: `json.dumps` would build an encoder for each value.
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, default=_default)
_COMPACT = json.JSONEncoder(allow_nan=False, ensure_ascii=False, default=_default, separators=(",", ":"))
