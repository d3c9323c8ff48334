"""Tables of TOML as typed configurations.

An unknown key is an error that names the nearest known one, and the section that has it.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

from rollscope.errors import BadInput, nearest


def change(table: dict[str, Any], text: str) -> None:
    """Apply `rollout.repeats=4` to the table. A value that is not TOML is text."""
    key, equals, written = text.partition("=")
    if not equals:
        raise BadInput(f"--set {text!r} is not key=value, as in --set rollout.repeats=4")
    try:
        value = tomllib.loads(f"x = {written}")["x"]
    except tomllib.TOMLDecodeError:
        value = written
    *sections, last = key.strip().split(".")
    for section in sections:
        table = table.setdefault(section, {})
    table[last] = value


def fill(kind: type, table: Mapping[str, Any], where: str = "") -> Any:
    """An instance of a dataclass with the values of a table; `where` is its path, for messages."""
    hints = typing.get_type_hints(kind)
    for key in table:
        if key not in hints:
            section = f"in [{where}]" if where else "at the top"
            known = f"{_elsewhere(key, hints)}{nearest(key, hints)} Known are: {', '.join(hints)}"
            raise BadInput(f"the configuration has no key {key!r} {section}.{known}")
    filled = kind()
    for key, value in table.items():
        setattr(filled, key, _value(hints[key], value, f"{where}.{key}" if where else key))
    return filled


def _elsewhere(key: str, sections: Mapping[str, Any]) -> str:
    """A sentence about the sections that have this key, or nothing."""
    having = [f"[{n}]" for n, s in sections.items() if dataclasses.is_dataclass(s) and key in typing.get_type_hints(s)]
    return f" It belongs into {' or '.join(having)}." if having else ""


def _value(hint: Any, value: Any, where: str) -> Any:
    """The value, checked against its type hint."""
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise BadInput(f"{where} is a section, [{where}], not the value {value!r}")
        return fill(typing.cast(type, hint), value, where)
    inner = typing.get_args(hint)[0] if typing.get_origin(hint) is list else None
    if dataclasses.is_dataclass(inner) and isinstance(value, list):
        return [_value(inner, item, f"{where}[{i}]") for i, item in enumerate(value)]
    if typing.get_origin(hint) is Literal:
        allowed = typing.get_args(hint)
        if value not in allowed:
            raise BadInput(
                f"{where} = {value!r} is not one of {', '.join(map(repr, allowed))}.{nearest(str(value), allowed)}"
            )
        return value
    plain = typing.get_origin(hint) or hint
    if plain is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    union, number = isinstance(plain, types.UnionType), isinstance(value, bool) and plain is not bool
    if union or number or not isinstance(value, plain):
        raise BadInput(f"{where} = {value!r} is a {type(value).__name__}; expected a {plain.__name__}")
    return value
