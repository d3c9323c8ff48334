"""Rollscope: the flight recorder and the cockpit of RL post-training.

`import rollscope as rs` imports the standard library only; every public name brings its module on
first use. Recording then costs numpy and little else.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {  # public name -> the module that holds it
    "compute": "rollscope.kernels",  # the catalogue's function, after the kernels have registered themselves
    "rename": "rollscope.catalog.names.rename",
    "explain": "rollscope.catalog.names.resolve",
    "evaluate": "rollscope.catalog.evaluate",
    "init": "rollscope.record.start",
    "Run": "rollscope.record.run",
    "Sample": "rollscope.record.caller.sample",
    "open": "rollscope.lake.door",
    "RollscopeError": "rollscope.errors",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name == "sources":  # makes `rollscope.sources.trl.attach(trainer)` one line
        return importlib.import_module("rollscope.sources")
    if name not in _WHERE:
        raise AttributeError(f"module 'rollscope' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
