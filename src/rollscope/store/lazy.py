"""Modules that are imported on first use, so opening a run and reading a series stay quick."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands in for a module and imports it when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
