"""Which metrics are meant, what they read, and the hash that tells one definition from another."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from rollscope.catalog.compute.inputs import parameters, parse
from rollscope.catalog.names.resolve import lookup, resolve
from rollscope.catalog.spec import DERIVED, METRICS, Metric
from rollscope.errors import BadInput
from rollscope.kernels import compute

from .batches import EXAMPLE, KEYS


@functools.lru_cache(maxsize=64)
def entries(names: tuple[str, ...]) -> tuple[Metric, ...]:
    """The entries behind some names. Raises a sentence for one that samples cannot give."""
    from rollscope.catalog import families  # noqa: F401  # fills METRICS

    found = [METRICS[name] if name in METRICS else resolve(name).entry for name in names]
    for name, entry in zip(names, found, strict=True):
        _check(name, entry)
    return tuple(dict.fromkeys(found))


def _check(name: str, entry: Metric) -> None:
    if entry.producer != "compute":
        raise BadInput(
            f"{name} comes from the {entry.producer}, so samples do not hold what it is made of:"
            f" only metrics that rs.compute makes can be recomputed. See: rollscope explain {name}"
        )
    if entry.kind == "counter":
        raise BadInput(f"{name} counts from the start of a run to its end, and samples tell of their own steps alone")
    if not compute(EXAMPLE, strict=False, names=[entry.name]):
        lacking = ", ".join(sorted(set(entry.needs) - KEYS)) or "more than one step"
        raise BadInput(f"{name} needs {lacking}, which the samples of a run do not hold")


def ours(names: Sequence[str]) -> tuple[str, ...]:
    """Our names for names of any framework; the name of an entry stays."""
    from rollscope.catalog import families  # noqa: F401

    return tuple(dict.fromkeys(name if name in METRICS else resolve(name).name for name in names))


def wanted(names: Sequence[str]) -> list[str]:
    """The names of the entries."""
    return [entry.name for entry in entries(tuple(names))]


def is_asked(result: str, names: Sequence[str]) -> bool:
    """True if a result was asked for, by its own name or by that of its entry."""
    if result in names:
        return True
    match = lookup(result)
    return match is not None and match.entry.name in names


def inputs(names: Sequence[str]) -> frozenset[str]:
    """The keys of a batch that these metrics read, also those that they can do without."""
    read = {stem for entry in entries(tuple(names)) if entry.define for stem in _stems(entry.define)}
    return frozenset(read & KEYS | {key for entry in entries(tuple(names)) for key in entry.needs})


def _stems(function: Callable[..., Any]) -> set[str]:
    """The words of all parameters of a function, and of the derived quantities that it reads."""
    return {parse(parameter)[0] for one in _functions(function, set()) for parameter, _ in parameters(one)}


def code_of(names: Sequence[str]) -> str:
    """A hash of the functions that define some metrics, and of all that those read."""
    texts = {text for entry in entries(tuple(names)) if entry.define for text in _sources(entry.define)}
    return hashlib.sha256("\n".join([*sorted(texts), *sorted(names)]).encode()).hexdigest()[:16]


def _sources(function: Callable[..., Any]) -> set[str]:
    return {inspect.getsource(getattr(one, "plain", one)) for one in _functions(function, set())}


def _functions(function: Callable[..., Any], seen: set[Any]) -> set[Any]:
    """A function, and the derived quantities that it reads."""
    if function not in seen:
        seen.add(function)
        for parameter, _ in parameters(function):
            for name in (parameter, parse(parameter)[0]):
                if name in DERIVED:
                    _functions(DERIVED[name], seen)
    return seen
