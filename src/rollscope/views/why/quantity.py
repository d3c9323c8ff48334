"""The quantity of each sample whose mean a metric is: its column, and the samples it covers.

Only means and shares over samples have one; any other metric raises BadInput with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.sequence import UNFINISHED
from rollscope.errors import BadInput
from rollscope.strict_json import parsed

Floats = NDArray[np.float64]
Columns = Mapping[str, Any]
Values = Callable[[Columns], Floats]  # one value per sample, NaN: none
Recipe = tuple[tuple[str, ...], Values]  # the columns to read, and the function of them
RecipeFor = Callable[[Mapping[str, str]], Recipe]  # by the placeholders of a name


@dataclass(frozen=True, slots=True)
class Quantity:
    metric: str
    columns: tuple[str, ...]  # to read
    of: Values
    scope: str = ""  # generated, trained, discarded, or "" for all


def quantity(metric: str, dialect: str | None = None) -> Quantity:
    """The quantity behind a metric's name, in any dialect."""
    if "*" in metric or "{" in metric:
        raise BadInput(f"{metric!r} stands for several metrics, and only one at a time can be taken apart. Say which.")
    match = resolve(metric, dialect)
    base = match.entry.name
    if match.stat not in ("", "mean"):
        raise BadInput(
            f"{metric!r} is a {match.stat} over samples; only a mean or a share can be taken apart "
            f"into what each group adds. Ask for {match.name.rsplit('/', 1)[0]}/mean."
        )
    recipe_for = _RECIPES.get(base)
    if recipe_for is None:
        raise BadInput(
            f"{metric!r} ({base}) is not a mean over samples, so it cannot be taken apart "
            f"into what each group adds. These can: {', '.join(sorted(_RECIPES))}."
        )
    columns, of = recipe_for(dict(match.bindings or {}))
    return Quantity(match.name, columns, of, SCOPES.get(base, match.scope))


def _column(name: str) -> RecipeFor:
    return lambda bindings: _of_sequences((name,), lambda c: floats(c[name]))


def _length(name: str) -> RecipeFor:
    """A length counts every sample, an empty answer too."""
    return lambda bindings: ((name,), lambda c: floats(c[name]))


def _of_sequences(columns: tuple[str, ...], of: Values) -> Recipe:
    """Leave out answers without tokens, as the recorded metrics do."""
    return (*columns, "completion_tokens"), lambda c: np.where(floats(c["completion_tokens"]) == 0, np.nan, of(c))


def _inside(column: str, placeholder: str) -> RecipeFor:
    def recipe(bindings: Mapping[str, str]) -> Recipe:
        key = bindings[placeholder]
        return _of_sequences((column,), lambda c: floats([_member(cell, key) for cell in c[column]]))

    return recipe


def _of_env(bindings: Mapping[str, str]) -> Recipe:
    name = bindings["env"]
    return _of_sequences(
        ("reward", "env"),
        lambda c: np.where(np.array([env == name for env in c["env"]], bool), floats(c["reward"]), np.nan),
    )


def _stopped(test: Callable[[str], bool]) -> Recipe:
    """A share of the samples that have a stop reason."""
    return ("stop_reason",), lambda c: floats([None if s is None else float(test(s)) for s in c["stop_reason"]])


def _total(bindings: Mapping[str, str]) -> Recipe:
    """Prompt and response tokens. With tools the response is longer than the sampled completion."""

    def of(c: Columns) -> Floats:
        response = floats(c["response_tokens"])
        return floats(c["prompt_tokens"]) + np.where(np.isnan(response), floats(c["completion_tokens"]), response)

    return ("prompt_tokens", "completion_tokens", "response_tokens"), of


def _share(column: str, test: Callable[[Floats], NDArray[np.bool_]]) -> RecipeFor:
    def of(c: Columns) -> Floats:
        values = floats(c[column])
        return np.where(np.isnan(values), np.nan, test(values).astype(np.float64))

    return lambda bindings: ((column,), of)


def _discarded(bindings: Mapping[str, str]) -> Recipe:
    return ("trained",), lambda c: np.array([0.0 if t is not None and t else 1.0 for t in c["trained"]])


def _where(column: str, known: str, test: Callable[[Columns], NDArray[np.bool_]]) -> RecipeFor:
    return lambda bindings: ((column, known), lambda c: np.where(test(c), floats(c[column]), np.nan))


SCOPES = {"discarded/share": "generated", "discarded/staleness": "discarded"}  # by their definitions
_RECIPES: dict[str, RecipeFor] = {
    "reward": _column("reward"),
    "reward_env/{env}": _of_env,
    "score": _column("score"),
    "advantage_sample": _column("advantage"),
    "turns": _column("turns"),
    "tool/calls": _column("tool_calls"),
    "tool/failures": _column("tool_failures"),
    "tool/used_share": _share("tool_calls", lambda x: x > 0),
    "staleness": _column("off_policy_steps"),
    "discarded/staleness": _column("off_policy_steps"),
    "discarded/share": _discarded,
    "length/prompt": _length("prompt_tokens"),
    "length/completion": _length("completion_tokens"),
    "length/response": _length("response_tokens"),
    "length/response_non_aborted": _where(
        "response_tokens", "response_tokens", lambda c: floats(c["response_tokens"]) > 0
    ),
    "length/terminated": _where(
        "completion_tokens",
        "stop_reason",
        lambda c: np.array([s is not None and s not in UNFINISHED for s in c["stop_reason"]], bool),
    ),
    "length/total": _total,
    "length/truncated": lambda bindings: _stopped(lambda s: s == "length"),
    "length/ended": lambda bindings: _stopped(lambda s: s not in UNFINISHED),
    "length/not_ended": lambda bindings: _stopped(lambda s: s in UNFINISHED),
    "length/aborted": _share("completion_tokens", lambda x: x == 0),
    "stop/{reason}": lambda bindings: _stopped(lambda s: s == bindings["reason"]),
    "reward_component/{component}": _inside("rewards", "component"),
    "sample_metric/{metric}": _inside("sample_metrics", "metric"),
}


def floats(values: Any) -> Floats:
    """One float per sample; missing is NaN."""
    array = np.asarray(values)
    if array.dtype != object:
        return np.asarray(np.ma.filled(np.ma.asarray(array).astype(np.float64), np.nan), np.float64)
    return np.array([np.nan if v is None else float(v) for v in array], np.float64)


def _member(cell: Any, key: str) -> float | None:
    if cell is None:
        return None
    mapping = parsed(cell) if isinstance(cell, str) else cell
    value = mapping.get(key) if isinstance(mapping, Mapping) else None
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):  # a word where a number belongs
        return None
