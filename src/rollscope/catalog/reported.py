"""Short forms for entries that another program measures, and for the names of six frameworks.

A family of such entries reads as a table: each row says what the number means, how it is made, how
to read it and what to check.
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
    """Add a metric that is not computed from a batch. Semicolons separate the points of `check`."""
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
