"""The outcome of a definition, under canonical names.

A definition may return a partial, a `Distribution` or a dict. A distribution becomes a summary that
blocks merge into and that splits into one partial per statistic at the end. The keys of a dict fill
the `{placeholder}` of the entry's name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from rollscope.catalog.partials.distribution import Distribution, Summary
from rollscope.catalog.partials.partial import Mean, Partial, Ratio
from rollscope.catalog.spec import METRICS, Metric, in_scope
from rollscope.errors import BadBatch

from .batch import Problems
from .inputs import parameters

SCOPES = ("generated", "trained", "discarded")
Results = dict[str, Any]  # name -> Partial, or (statistics, Summary) until the last block


def given(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments that are not None; None if a required one is missing."""
    if all(value is not None for value in arguments.values()):
        return arguments
    optional = dict(parameters(function))
    if any(arguments[name] is None and not optional[name] for name in arguments):
        return None
    return {name: value for name, value in arguments.items() if value is not None}


def call(function: Callable[..., Any], arguments: Mapping[str, Any], name: str, problems: Problems) -> Any:
    """Call a definition. If problems are collected, a failure costs only its own number."""
    if problems is None:
        return function(**arguments)
    try:
        return function(**arguments)
    except Exception as error:
        sentence = f"{name} could not be computed: {type(error).__name__}: {error}"
        if sentence not in problems:
            problems.append(sentence)
        return None


def define(entry: Metric, arguments: Mapping[str, Any]) -> Any:
    """Call the definition of an entry of samples. A share outside 0 to 1 raises BadBatch.

    Inputs that contradict each other give one, such as more failed calls than calls.
    """
    assert entry.define is not None
    outcome = entry.define(**arguments)
    if entry.unit == "share":
        for partial in outcome.values() if isinstance(outcome, dict) else (outcome,):
            if isinstance(partial, (Ratio, Mean)):
                _require_share(entry, *partial.state())
    return outcome


def _require_share(entry: Metric, part: float, whole: float) -> None:
    slack = 1e-9 * abs(whole)
    if part < -slack or part > whole + slack:
        keys = " and ".join(f"batch[{need!r}]" for need in entry.needs)
        raise BadBatch(f"{keys} contradict each other: {entry.name} would not lie in 0..1, as a share does.")


def spelled(entry: Metric, outcome: Any, scope: str = "") -> Results:
    """Name an outcome. A dict fills the placeholder; a distribution becomes a summary."""
    if outcome is None:
        return {}
    name = in_scope(entry.name, scope)
    if isinstance(outcome, dict):
        head, _, rest = name.partition("{")
        tail = rest.partition("}")[2]
        return {f"{head}{word}{tail}": _summarised(entry, x) for word, x in outcome.items()}
    return {name: _summarised(entry, outcome)}


def _summarised(entry: Metric, outcome: Any) -> Any:
    return (entry.stats, Summary.of(outcome, entry.stats)) if isinstance(outcome, Distribution) else outcome


def merge(into: Results, more: Results) -> None:
    """Add the results of another block, in place."""
    for name, result in more.items():
        if name not in into:
            into[name] = result
        elif isinstance(result, tuple):
            into[name][1].add(result[1])
        else:
            into[name] += result


def spoiled(results: Results, entries: Collection[str]) -> Results:
    """The results, with NaN for those of some entries, whose inputs hold NaN."""
    for name in entries:
        for scope in ("", *SCOPES) if METRICS[name].scoped else ("",):
            head, brace, rest = in_scope(name, scope).partition("{")
            tail = rest.partition("}")[2]
            of_entry = [n for n in results if n.startswith(head) and n.endswith(tail)] if brace else [head]
            for one in of_entry:
                if one in results:
                    results[one] = _broken(results[one])
    return results


def _broken(result: Any) -> Any:
    return (result[0], result[1].broken()) if isinstance(result, tuple) else result.broken()


def finished(results: Results) -> dict[str, Partial]:
    """One partial per name: a summary splits into its statistics."""
    partials: dict[str, Partial] = {}
    for name, result in results.items():
        if isinstance(result, tuple):
            stats, summary = result
            partials |= {f"{name}/{stat}": partial for stat, partial in summary.partials(stats).items()}
        else:
            partials[name] = result
    return partials
