"""Labels as text, whatever the caller gave: environments, splits, clocks, lanes, ids, names.

Nothing here raises. A label that has no text, or too much of it, costs itself alone.
"""

from __future__ import annotations

import hashlib
from enum import Enum
from reprlib import Repr
from typing import Any

from rollscope.record.loss import ODD, Lose, one_line

from .device import is_tensor

LONGEST = 10_000  # characters of a label
_SHOWN = 60  # characters of a value in a message
_SHORT = Repr()  # of containers: bounded in depth and length, also where a value contains itself
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 20
_CONTAINERS = (list, tuple, dict, set, frozenset)


def text(value: Any, lose: Lose) -> str:
    """The text of a label, at most `LONGEST` characters.

    An enum member is its value if that is text, else its name: members made by `auto()` are numbers
    that say nothing. Bytes are decoded, and what is not UTF-8 stays visible as `\\xff`. Anything
    else is its `str`; an object that has none is `<Thing>`. A text that is too long ends with a
    hash, so that two of them stay two.
    """
    if type(value) is not str:
        try:
            value = plain_text(value)
        except ODD as error:  # whatever an odd object does when it is printed
            lose("labels", f"a {kind_of(value)} has no text ({one_line(error)})")
            value = f"<{kind_of(value)}>"
    if len(value) <= LONGEST:
        return str(value)
    lose("labels", f"{value[:_SHOWN]!r}... has {len(value):,} characters; the first {LONGEST} are kept")
    return f"{value[: LONGEST - 17]}~{hashlib.blake2b(_bytes(value), digest_size=8).hexdigest()}"


def label(value: Any, lose: Lose) -> str:
    """The text of a label, in which a lone surrogate is written as its escape."""
    known = text(value, lose)
    return known if known.isascii() else known.encode("utf-8", "backslashreplace").decode()


def plain_text(value: Any) -> str:
    """The whole text of a value. Raises if it has none."""
    if isinstance(value, Enum):
        value = value.value if isinstance(value.value, str) else value.name
    if isinstance(value, str):
        return value[:]  # a plain string, also of a subclass
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, _CONTAINERS):
        return _SHORT.repr(value)
    if is_tensor(value) and value.numel() == 1:
        value = value.item()
    return str(value)[:]


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def kind_of(value: Any) -> str:
    """The name of a value's type."""
    try:
        return str(type(value).__name__)[:_SHOWN]
    except ODD:  # a metaclass may do anything
        return "object"


def shown(value: Any) -> str:
    """A value in a message: short, whatever it is."""
    try:
        if isinstance(value, (int, float)):
            return repr(value)[:_SHOWN]
        if isinstance(value, (str, bytes, *_CONTAINERS)):
            return _SHORT.repr(value)[:_SHOWN]
    except ODD:
        return f"a {kind_of(value)}"
    return f"a {kind_of(value)}"
