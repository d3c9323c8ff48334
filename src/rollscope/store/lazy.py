"""Modules that are imported when something of them is first asked for: opening a run and reading a series should cost what they need."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """Stands for a module until it is needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
