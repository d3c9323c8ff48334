"""Check the arguments of a reader. An empty result would look valid, so a bad value raises."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any

from rollscope.errors import BadInput


def integer(what: str, value: Any, lowest: int | None = None) -> int | None:
    """A whole number, also if it comes as a float or a numpy integer."""
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
    """A list of texts; a single text becomes a list of one."""
    if value is None:
        return None
    words = [value] if isinstance(value, str) else list(value)
    for word in words:
        if not isinstance(word, str):
            raise BadInput(f"{what} must be texts, and {word!r} is not one.")
    return words


def text(what: str, value: Any) -> str:
    """A text that UTF-8 can encode."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be a text, not {value!r}.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} contains half of a character, {value[error.start]!r} at position {error.start},"
            " which SQL cannot read."
        ) from error
    return value


def known(what: str, names: Collection[str], takes: Sequence[str]) -> None:
    """Reject keyword arguments that a method does not take."""
    for name in sorted(set(names) - set(takes)):
        raise BadInput(f"{what} does not take {name!r}. It takes {', '.join(takes)}.")
