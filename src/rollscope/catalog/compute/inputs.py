"""The inputs of a metric: its parameter names, resolved to batch keys and derived quantities.

`x_A` is key x on the tokens the policy sampled, `x_M` on the tokens in the loss, `x_V` on every
token after the prompt, `x_S` one per sample; without a suffix it is one per step. `rows_A`,
`rows_M` and `rows_V` say which of those tokens belong to which sample. A key that the batch lacks
comes from the derived quantity of the same name, if there is one. A parameter with a default may be
absent.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from rollscope.catalog.keys import KEYS, TOKEN_LEVELS
from rollscope.catalog.spec import DERIVED, METRICS

TOKEN_AXES = ("A", "M", "V")
MASK_OF = {"A": "action_mask", "M": "mask", "V": "valid_mask"}


def parse(parameter: str) -> tuple[str, str]:
    """Split `logp_A` into ("logp", "A"). The axis of a name without one is "".

    >>> parse("old_logp_M"), parse("clip_low")
    (('old_logp', 'M'), ('clip_low', ''))
    """
    stem, _, axis = parameter.rpartition("_")
    return (stem, axis) if stem and axis in (*TOKEN_AXES, "S") else (parameter, "")


@cache
def parameters(function: Callable[..., Any]) -> tuple[tuple[str, bool], ...]:
    """The name of each parameter, and whether it may be absent."""
    return tuple((name, p.default is not p.empty) for name, p in inspect.signature(function).parameters.items())


def is_token(parameter: str) -> bool:
    return parse(parameter)[1] in TOKEN_AXES


def is_row(parameter: str) -> bool:
    """Whether a parameter is one value per sample, computed from its tokens block by block."""
    function = DERIVED.get(parameter)
    return function is not None and parse(parameter)[1] == "S" and any(is_token(p) for p, _ in parameters(function))


def keys_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The batch keys a function needs, through its derived quantities.

    Optional keys are left out, unless all are optional: then any one of them is enough.
    """
    keys: dict[str, None] = {}
    inputs = parameters(function)
    for name in [name for name, optional in inputs if not optional] or [name for name, _ in inputs]:
        stem, axis = parse(name)
        if stem == "rows":
            keys[MASK_OF[axis]] = None
        elif stem in KEYS and (KEYS[stem].level not in TOKEN_LEVELS or axis != "S" or name not in DERIVED):
            keys[stem] = None
        elif name in DERIVED:
            keys.update(dict.fromkeys(keys_of(DERIVED[name])))
        else:
            where = f"{function.__module__}.{function.__name__}"
            raise LookupError(f"{where} asks for {name!r}, which is neither a batch key nor a derived quantity")
    return tuple(keys)


def resolve_needs() -> None:
    """Set `needs` of every computed entry to its batch keys, once all families are loaded."""
    for name, entry in METRICS.items():
        if entry.define is not None:
            METRICS[name] = dataclasses.replace(entry, needs=keys_of(entry.define))


def asking(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """The same function with other parameter names, for entries that differ only in their inputs.

    >>> asking(lambda x, y: x - y, "logp_A", "ref_logp_A")(logp_A=3, ref_logp_A=1)
    2
    """

    def renamed(**values: Any) -> Any:
        return function(*(values[name] for name in names))

    renamed.plain = function  # type: ignore[attr-defined]  # the engine calls it by position
    renamed.__name__, renamed.__module__ = function.__name__, function.__module__
    renamed.__annotations__ = {"return": function.__annotations__.get("return", "")}
    inputs = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    renamed.__signature__ = inspect.Signature(inputs)  # type: ignore[attr-defined]
    return renamed


TWINS: dict[str, str] = {}  # `x_M` -> `x_A` if both are one formula on two masks


def derived_on(*axes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a derived quantity on several token axes: `ratio` becomes `ratio_A` and `ratio_M`.

    If the masks are the same, it is computed once.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for axis in axes:
            name = f"{function.__name__}_{axis}"
            assert name not in DERIVED, f"two derived quantities are called {name}"
            DERIVED[name] = asking(function, *(f"{p}_{axis}" for p in inspect.signature(function).parameters))
            TWINS[name] = f"{function.__name__}_{axes[0]}"
        return function

    return enter
