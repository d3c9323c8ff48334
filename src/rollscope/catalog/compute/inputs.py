"""What a metric asks for: parameter names resolved to batch keys and derived quantities.

`x_A` is key x on the tokens the policy sampled, `x_M` on the tokens in the loss, `x_V` on every token after the prompt, `x_S` one per sample,
no suffix one per step. `rows_A`, `rows_M`, `rows_V` say which of those tokens belong to which sample. A key that was not given is
taken from the derived quantity of the same name, if there is one; a parameter with a default may be absent.
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
    """`logp_A` is ("logp", "A"); a name without an axis has "".

    >>> parse("old_logp_M"), parse("clip_low")
    (('old_logp', 'M'), ('clip_low', ''))
    """
    stem, _, axis = parameter.rpartition("_")
    return (stem, axis) if stem and axis in (*TOKEN_AXES, "S") else (parameter, "")


@cache
def parameters(function: Callable[..., Any]) -> tuple[tuple[str, bool], ...]:
    """(name, whether it may be absent) of each parameter."""
    return tuple((name, p.default is not p.empty) for name, p in inspect.signature(function).parameters.items())


def is_token(parameter: str) -> bool:
    return parse(parameter)[1] in TOKEN_AXES


def is_row(parameter: str) -> bool:
    """One value per sample that is made from that sample's tokens: computed block by block."""
    function = DERIVED.get(parameter)
    return function is not None and parse(parameter)[1] == "S" and any(is_token(p) for p, _ in parameters(function))


def keys_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The batch keys a function needs, through its derived quantities; those it can do without are left out, unless any one of them will do."""
    found: dict[str, None] = {}
    every = parameters(function)
    for name in [name for name, optional in every if not optional] or [name for name, _ in every]:
        stem, axis = parse(name)
        if stem == "rows":
            found[MASK_OF[axis]] = None
        elif stem in KEYS and (KEYS[stem].level not in TOKEN_LEVELS or axis != "S" or name not in DERIVED):
            found[stem] = None
        elif name in DERIVED:
            found.update(dict.fromkeys(keys_of(DERIVED[name])))
        else:
            raise LookupError(
                f"{function.__module__}.{function.__name__} asks for {name!r}, which is neither a batch key nor a derived quantity"
            )
    return tuple(found)


def resolve_needs() -> None:
    """Write the batch keys of every computed entry into its `needs`. Called when all families are in."""
    for name, entry in METRICS.items():
        if entry.define is not None:
            METRICS[name] = dataclasses.replace(entry, needs=keys_of(entry.define))


def asking(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """The same function under other parameter names, for entries that differ only in what they read.

    >>> asking(lambda x, y: x - y, "logp_A", "ref_logp_A")(logp_A=3, ref_logp_A=1)
    2
    """

    def asked(**values: Any) -> Any:
        return function(*(values[name] for name in names))

    asked.plain = function  # type: ignore[attr-defined]  # the engine calls it by position
    asked.__name__, asked.__module__ = function.__name__, function.__module__
    asked.__annotations__ = {"return": function.__annotations__.get("return", "")}
    asked.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names])  # type: ignore[attr-defined]
    return asked


TWINS: dict[str, str] = {}  # `x_M` -> `x_A`, where both are one formula on two masks


def derived_on(*axes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A derived quantity on several token axes: `ratio` becomes `ratio_A` and `ratio_M`. Where the masks are one, it is computed once."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for axis in axes:
            name = f"{function.__name__}_{axis}"
            assert name not in DERIVED, f"two derived quantities are called {name}"
            DERIVED[name] = asking(function, *(f"{p}_{axis}" for p in inspect.signature(function).parameters))
            TWINS[name] = f"{function.__name__}_{axes[0]}"
        return function

    return enter
