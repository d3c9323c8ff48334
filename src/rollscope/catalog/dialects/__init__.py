"""The names of the frameworks that have no column in `families/`: one table a framework.

A table is `NAMES`: our entry -> what the framework's loggers call it. Its names come from the
framework's own source, and a note says where a number is not ours. `enter` adds them all to the
entries; a framework that logs another one's names has a table of its own names alone, and
`names.dialect.LIKE` says whose it shares.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import replace

from rollscope.catalog.spec import METRICS, Name


def enter() -> None:
    """Add the names of every table to the entries. Each entry must be known by then."""
    for module in pkgutil.iter_modules(__path__):
        table: Mapping[str, tuple[Name, ...]] = importlib.import_module(f"{__name__}.{module.name}").NAMES
        for entry, names in table.items():
            METRICS[entry] = replace(METRICS[entry], names=(*METRICS[entry].names, *names))
