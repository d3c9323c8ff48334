"""Values that a framework logs, as the numbers we record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rollscope.sources.intake.gather import number


def scalar(value: Any) -> Any:
    """The number in a tensor or an array of one element; anything else as it is."""
    try:
        return value.item() if hasattr(value, "item") and math.prod(getattr(value, "shape", ())) == 1 else value
    except Exception:  # an object of the program that answers no question
        return value


def numbers(data: Mapping[str, Any]) -> dict[str, float]:
    """The entries that are numbers."""
    return {
        name: value
        for name, raw in data.items()
        if (value := raw if type(raw) is float else number(scalar(raw))) is not None  # most are floats
    }


def by_split(values: Mapping[str, float], is_eval: Callable[[str], bool]) -> Iterator[tuple[str, dict[str, float]]]:
    """Numbers of evaluation, then numbers of training; a split without numbers is left out."""
    for split in ("eval", "train"):
        some = {name: value for name, value in values.items() if is_eval(name) == (split == "eval")}
        if some:
            yield split, some
