"""Types for numeric arguments. A bad value is rejected with a sentence at parse time."""

from __future__ import annotations

import argparse
import math


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return value


def count(text: str) -> int:
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got {text!r}")
    return int(text)


def steps(text: str) -> int | tuple[int, int]:
    """A step, or a range such as 230-240."""
    first, dash, last = text.strip().partition("-")
    if first.isdecimal() and (last.isdecimal() or not dash):
        return (int(first), int(last)) if dash else int(first)
    raise argparse.ArgumentTypeError(f"expected a step such as 236, or a range such as 230-240, got {text!r}")


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number, 0 or more, got {text!r}")
    return value
