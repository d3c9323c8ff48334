"""What is done with blocks: a function, and the arguments that all blocks have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Block = tuple[Any, ...]  # ids of samples, or steps
Row = dict[str, Any]  # of the table `scans`
Outcome = tuple[Block, list[Row] | Exception]


class Job(NamedTuple):
    """`work(*common, block)` gives rows; it must be a function of a module."""

    work: Callable[..., list[Row]]
    common: tuple[Any, ...]
