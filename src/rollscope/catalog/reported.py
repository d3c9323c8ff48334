"""Short forms for entries that are kept as somebody else measured them, and for the six frameworks' names.

A family of such entries reads as a table: what the number means, how it is made, how to read it and what to check, one row each.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from .spec import Good, Name, Producer, record

verl = partial(Name, "verl")
openrlhf = partial(Name, "openrlhf")
trl = partial(Name, "trl")
rlinf = partial(Name, "rlinf")
trinity = partial(Name, "trinity")
telescope = partial(Name, "telescope")


def reported(
    name: str,
    *,
    meaning: str,
    definition: str,
    read: str,
    check: str,
    unit: str,
    good: Good,
    example: str,
    names: Iterable[Name] = (),
    kind: str = "mean",
    producer: Producer = "framework",
    needs: Iterable[str] = ("the framework's own log",),
    **more: Any,
) -> None:
    """Enter a metric that cannot be computed from a batch. `check` separates its points with semicolons."""
    text = f"{meaning}\n\nDefinition: {definition}\n\nRead: {read}\n\nCheck: {check}"
    record(
        name,
        text,
        unit=unit,
        good=good,
        kind=kind,
        producer=producer,
        needs=needs,
        example=example,
        names=names,
        **more,
    )
