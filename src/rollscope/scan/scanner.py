"""What a scanner is: a function from a list of samples to one result for each."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput, nearest
from rollscope.store.schema import SAMPLES

Sample = dict[str, Any]
Result = float | str | None
Function = Callable[[list[Sample]], Sequence[Any]]
COLUMNS = tuple(column.name for column in SAMPLES)
ALWAYS = ("id", "step", "split", "attempt")
NAME = re.compile(r"[A-Za-z_][\w.-]*")
LONGEST_LABEL = 200

_defined: dict[str, Scanner] = {}


@dataclass(frozen=True, slots=True)
class Scanner:
    """A function with its name and the columns of `samples` that it reads."""

    name: str
    needs: tuple[str, ...]
    function: Function


def scanner(needs: Sequence[str], name: str = "") -> Callable[[Function], Function]:
    """Make a function a scanner. It is called with up to some thousand samples of whole steps.

    Each sample is a mapping of `id`, `step`, `split`, `attempt` and the columns in `needs`. The
    function returns one result for each sample, in order: a number, a truth value, a word, None, or
    a mapping of names to these.
    """
    for column in needs:
        if column not in COLUMNS:
            raise BadInput(
                f"a scanner needs {column!r}, which is no column of samples.{nearest(column, COLUMNS)}"
                " List them: rollscope sql --tables"
            )

    def define(function: Function) -> Function:
        own = name or function.__name__
        if not NAME.fullmatch(own):
            raise BadInput(f"a scanner cannot be called {own!r}: use letters, digits, _, . and -")
        if own in _defined:
            raise BadInput(f"two scanners are called {own!r}; give one of them another name")
        _defined[own] = Scanner(own, tuple(dict.fromkeys([*ALWAYS, *needs])), function)
        return function

    return define


def code_of(source: str) -> str:
    """The hash that tells one version of a file from another."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def source_of(file: str) -> str:
    """The text of a file with scanners."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the file {file!r} with scanners cannot be read: {error}") from error


def scanners(source: str, file: str) -> dict[str, Scanner]:
    """The scanners that a file defines."""
    _defined.clear()
    try:
        exec(compile(source, file, "exec"), {"__name__": "rollscope_scanners", "__file__": file})
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{file} could not be run: {type(error).__name__}: {error}") from error
    if not _defined:
        raise BadInput(
            f"{file} defines no scanner. Begin with: from rollscope.scan import scanner, then @scanner(needs=[...])"
        )
    return dict(_defined)


def results(scanner: Scanner, samples: list[Sample]) -> list[dict[str, Result]]:
    """What a scanner says of each sample: name -> number, word or None."""
    given = list(scanner.function(samples))
    if len(given) != len(samples):
        raise BadInput(
            f"{scanner.name} returned {len(given):,} results for {len(samples):,} samples."
            " Return one for each, in order"
        )
    return [dict(_named(scanner.name, one)) for one in given]


def _named(name: str, given: Any) -> Iterator[tuple[str, Result]]:
    if isinstance(given, Mapping):
        for part, value in given.items():
            yield f"{name}/{part}", _result(f"{name}/{part}", value)
        if not given:
            yield name, None
    else:
        yield name, _result(name, given)


def _result(name: str, value: Any) -> Result:
    if hasattr(value, "item") and not getattr(value, "ndim", 0):  # a scalar of numpy or torch
        value = value.item()
    if isinstance(value, str):
        return value[:LONGEST_LABEL]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int | float):
        return float(value)
    raise BadInput(f"{name} returned a {type(value).__name__}: {str(value)[:80]!r}. Return a number, a word or None")
