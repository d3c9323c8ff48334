"""What a caller passed to a reader, as it is meant, or a sentence about why it cannot be used. An answer that is merely empty would be believed."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any

from rollscope.errors import BadInput


def whole(what: str, value: Any, lowest: int | None = None) -> int | None:
    """A whole number, however it is written."""
    if value is None:
        return None
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        number = None
    if number is None or (lowest is not None and number < lowest):
        least = f" of at least {lowest}" if lowest is not None else ""
        raise BadInput(f"{what} must be a whole number{least}, not {value!r}.")
    return number


def words(what: str, value: str | Sequence[str] | None) -> list[str] | None:
    """Some texts; one alone is a list of one."""
    if value is None:
        return None
    found = [value] if isinstance(value, str) else list(value)
    for word in found:
        if not isinstance(word, str):
            raise BadInput(f"{what} must be texts, and {word!r} is not one.")
    return found


def text(what: str, value: Any) -> str:
    """A text that can be handed on as UTF-8."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be a text, not {value!r}.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} holds half of a character, {value[error.start]!r} at place {error.start}, which SQL has no text for."
        ) from error
    return value


def known(what: str, names: Collection[str], takes: Sequence[str]) -> None:
    """Are these all arguments of a question?"""
    for name in sorted(set(names) - set(takes)):
        raise BadInput(f"{what} does not take {name!r}. It takes {', '.join(takes)}.")
