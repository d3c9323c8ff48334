"""Numbers that a command takes: what is none of the kind is answered by a sentence before anything begins."""

from __future__ import annotations

import argparse
import math


def seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, and found {text!r}")
    return found


def count(text: str) -> int:
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, and found {text!r}")
    return int(text)
