"""Which batch keys each computed entry can read, through derived quantities, masks and scopes.

`needs` of an entry lists what it cannot do without. A recorder that gets a batch in parts asks
which entries a late key can add, and which speak of the step alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from rollscope.catalog.keys import KEYS
from rollscope.catalog.spec import DERIVED, METRICS

from .inputs import MASK_OF, TOKEN_AXES, parameters, parse

STEP_LEVELS = ("step", "word", "object")


@cache
def keys_read(function: Callable[..., Any]) -> frozenset[str]:
    """The keys that a definition can read, needed or not."""
    return _keys_read(function, frozenset())


def _keys_read(function: Callable[..., Any], above: frozenset[str]) -> frozenset[str]:
    keys: set[str] = set()
    for name, _ in parameters(function):
        stem, axis = parse(name)
        keys |= set(MASK_OF.values()) if axis in TOKEN_AXES else set()
        keys |= {stem} if stem in KEYS else set()
        if name in DERIVED and name not in above:
            keys |= _keys_read(DERIVED[name], above | {name})
    return frozenset(keys)


def entries_reading(keys: Collection[str]) -> frozenset[str]:
    """The names of the entries that can read any of these keys."""
    return frozenset(name for name, read in _table() if not read.isdisjoint(keys))


@cache
def entries_of_step() -> dict[str, frozenset[str]]:
    """The entries that read no sample: name -> the keys they read."""
    return {name: read for name, read in _table() if all(KEYS[key].level in STEP_LEVELS for key in read)}


@cache
def entries() -> frozenset[str]:
    """The names of all computed entries."""
    return frozenset(name for name, _ in _table())


@cache
def _table() -> tuple[tuple[str, frozenset[str]], ...]:
    from rollscope.catalog import families  # noqa: F401  # fills METRICS

    table = []
    for name, entry in METRICS.items():
        if entry.define is not None:
            scope = {"trained", "discard_reason"} if entry.scoped else set()
            table.append((name, keys_read(entry.define) | scope))
    return tuple(table)
