"""Numbers per step that the doctor makes from samples, one idea a file, registered by name.

A number depends on the samples of its step alone, so a run that grows costs only its new steps.
Numbers of text and tokens read few samples of few steps, because these are large. Door:
`needs_of`, `compute`, `Chunk`.
"""

from __future__ import annotations

import importlib
import pkgutil

from .chunk import Chunk
from .registry import AGGREGATES, Aggregate, Numbers

__all__ = ["AGGREGATES", "Aggregate", "Chunk", "compute", "needs_of"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def needs_of(name: str) -> str:
    """What samples must have for a number, in words."""
    return AGGREGATES[name].needs


def compute(chunk: Chunk, text: bool) -> dict[str, Numbers]:
    """Every number that these samples support."""
    return {
        name: one.of(chunk)
        for name, one in AGGREGATES.items()
        if one.text == text and len(chunk.steps) and all(chunk.has(column) for column in one.columns)
    }
