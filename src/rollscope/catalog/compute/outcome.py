"""What a definition returned, under canonical names.

A partial is itself; a `Distribution` becomes a summary that blocks are merged into and that splits into one partial per statistic at the end; a dict
fills the `{placeholder}` of its entry's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rollscope.catalog.partials.distribution import Distribution, Summary
from rollscope.catalog.partials.partial import Partial
from rollscope.catalog.spec import Metric, in_scope

from .batch import Problems
from .inputs import parameters

Results = dict[str, Any]  # name -> Partial, or (statistics, Summary) until the last block is in


def given(function: Callable[..., Any], found: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments without those that turned out to be None; None where a required one did."""
    if all(value is not None for value in found.values()):
        return found
    optional = dict(parameters(function))
    return (
        None
        if any(found[p] is None and not optional[p] for p in found)
        else {p: x for p, x in found.items() if x is not None}
    )


def call(function: Callable[..., Any], arguments: Mapping[str, Any], name: str, problems: Problems) -> Any:
    """One definition. When problems are collected, a definition that fails costs its own number and no other."""
    if problems is None:
        return function(**arguments)
    try:
        return function(**arguments)
    except Exception as error:
        sentence = f"{name} could not be computed: {type(error).__name__}: {error}"
        if sentence not in problems:
            problems.append(sentence)
        return None


def spelled(entry: Metric, outcome: Any, scope: str = "") -> Results:
    """Results under canonical names: a dict fills the placeholder of the entry's name, a distribution waits as a summary."""
    if outcome is None:
        return {}
    name = in_scope(entry.name, scope)
    if isinstance(outcome, dict):
        head, _, rest = name.partition("{")
        tail = rest.partition("}")[2]
        return {f"{head}{word}{tail}": _ready(entry, x) for word, x in outcome.items()}
    return {name: _ready(entry, outcome)}


def _ready(entry: Metric, outcome: Any) -> Any:
    return (entry.stats, Summary.of(outcome, entry.stats)) if isinstance(outcome, Distribution) else outcome


def merge(into: Results, more: Results) -> None:
    for name, result in more.items():
        if name not in into:
            into[name] = result
        elif isinstance(result, tuple):
            into[name][1].add(result[1])
        else:
            into[name] += result


def finished(results: Results) -> dict[str, Partial]:
    finished: dict[str, Partial] = {}
    for name, result in results.items():
        if isinstance(result, tuple):
            finished |= {f"{name}/{stat}": partial for stat, partial in result[1].partials(result[0]).items()}
        else:
            finished[name] = result
    return finished
