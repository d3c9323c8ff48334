"""Rollscope: the flight recorder and the cockpit of RL post-training.

`import rollscope as rs` costs numpy and little else; everything heavier is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {  # public name -> module that holds it
    "compute": "rollscope.kernels",  # the catalogue's, which then knows the kernels
    "rename": "rollscope.catalog.names.dialects",
    "explain": "rollscope.catalog.names.dialects",
    "evaluate": "rollscope.catalog.evaluate",
    "init": "rollscope.record.run",
    "Run": "rollscope.record.run",
    "Sample": "rollscope.record.caller.sample",
    "open": "rollscope.views.run",
    "RollscopeError": "rollscope.errors",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name == "sources":  # so that `rollscope.sources.trl.attach(trainer)` is one line
        return importlib.import_module("rollscope.sources")
    if name not in _WHERE:
        raise AttributeError(f"module 'rollscope' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
