"""Configuration objects as mappings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

DEPTH = 64
MOST = 30_000  # values of a configuration; what comes after them is cut off
CUT = "…"


def plain(value: Any) -> Any:
    """A configuration with mappings in place of objects, as far as they can be read.

    Configuration objects are dataclasses, namespaces, and what has `to_dict`, `model_dump` or
    `_asdict`. Anything else stays as it is. What is too deep, too much, or lies inside itself, is
    cut off.
    """
    return _plain(value, 0, [MOST])


def _plain(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if depth > DEPTH or left[0] < 0:
        return CUT
    if isinstance(value, Mapping):
        return {_text(key): _plain(inner, depth + 1, left) for key, inner in _some(value.items(), left)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner, depth + 1, left) for inner in _some(value, left)]
    if value is None or isinstance(value, (str, bytes, bool, int, float)):
        return value
    mapping = mapping_of(value)
    return _text(value) if mapping is None else _plain(mapping, depth + 1, left)


def _some(values: Iterable[Any], left: list[int]) -> Iterator[Any]:
    """The values until too many were read. A reading that fails in their code ends it."""
    try:
        for value in values:
            yield value
            if left[0] < 0:
                return
    except Exception:
        left[0] -= 1


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be printed: {type(error).__name__}>"


def mapping_of(value: Any) -> dict[str, Any] | None:
    """A configuration object as a mapping, or None for any other object."""
    try:
        return _mapping_of(value)
    except Exception as error:  # their code, not ours: it must not stop a training
        return {"unreadable": f"{type(value).__name__} could not be read: {error!r}"[:300]}


def _mapping_of(value: Any) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    for method in ("to_dict", "model_dump", "_asdict"):
        if hasattr(value, method) and not isinstance(value, type):
            mapping = getattr(value, method)()
            return dict(mapping) if isinstance(mapping, Mapping) else None
    return dict(vars(value)) if type(value).__name__ in ("Namespace", "SimpleNamespace") else None
